// SPDX-License-Identifier: MIT
//
// A block, or a sequence of blocks that call each other: its callers and its callees. Each of them
// leads to the sequence that is longer by one block, so one walks from X to Y → X to Z → Y → X. A
// block also has a picture of the calls around it.

import {amount, count, fileLine, percent, plural} from "../model/format.js";
import {inLayers} from "../model/layers.js";
import {changed, filtered, href, question, to} from "../model/url.js";
import {blockLink, meaningOf, recursionText, shownName} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {graph} from "../parts/graph.js";
import {EFFECTS, applyFilter} from "../parts/keys.js";
import {
  amountCell,
  amountHead,
  callsAreKnown,
  countCell,
  countFigure,
  figure,
  scaleOf,
} from "../parts/numbers.js";
import {arrow} from "../parts/path.js";
import {Sandwich} from "../parts/sandwich.js";
import {plainTable} from "../parts/table.js";
import {hueGroups} from "./flame.js";

const FIRST = 50,
  MOST = 1000;

/** Are calls counted at all, though not those of every block? @param {import("../main.js").App} app */
function countsCalls(app) {
  return app.file.metrics.some(metric => metric.name === "calls");
}

/** @param {import("../main.js").App} app @param {any} answer @param {"callers"|"callees"} side */
function sideTable(app, answer, side) {
  const {state} = app;
  const scale = scaleOf(answer);
  const into = side === "callers";
  const longer = label =>
    href(changed(state, {block: into ? [label, ...state.block] : [...state.block, label]}));
  const calls = callsAreKnown(answer[side].rows) || countsCalls(app);
  const rows = answer[side].rows.map(row => {
    const block = row.block === null ? null : answer.blocks[row.block];
    return [
      amountCell(row.overall, answer, scale, "overall"),
      calls ? countCell(row.calls) : null,
      h(
        "th.name",
        {scope: "row"},
        blockLink(app, block, {
          key: side,
          where: true,
          href: block?.label ? longer(block.label) : undefined,
        }),
      ),
    ];
  });
  const heads = [
    {title: "Overall", kind: "num", below: amountHead(scale)},
    ...(calls ? [{title: "Calls", kind: "calls"}] : []),
    {title: into ? "Caller" : "Callee", kind: "name"},
  ];
  const more = answer[side].count - rows.length;
  return h(
    "section.side",
    null,
    plainTable(
      into
        ? ["Callers ", h("span.aside-title", null, "going in: who calls it")]
        : ["Callees ", h("span.aside-title", null, "going out: what it calls")],
      heads,
      rows,
      into ? "Nobody calls it on these paths." : "It calls nothing.",
    ),
    more > 0
      ? h(
          "div.foot",
          null,
          h("span", null, `${count(more)} more`),
          rows.length < MOST
            ? h(
                "button",
                {
                  type: "button",
                  data: {key: "more " + side},
                  onclick: () => app.go(changed(state, {rows: MOST}), {replace: true}),
                },
                "More rows",
              )
            : null,
        )
      : null,
  );
}

/**
 * @param {import("../main.js").App} app
 * @param {any} answer The sequence, with buttons to drop its ends.
 */
function crumbs(app, answer) {
  const {state} = app;
  const blocks = answer.sequence.map(b => answer.blocks[b]);
  const last = blocks.length - 1;
  const drop = (text, from, end) =>
    h(
      "a.button.small",
      {href: href(changed(state, {block: state.block.slice(from, end)})), data: {key: text}},
      text,
    );
  return h(
    "nav.crumbs",
    {"aria-label": "Sequence"},
    last > 0 ? drop("Drop the first", 1, undefined) : null,
    h(
      "ol.path",
      null,
      blocks.map((b, i) =>
        h("li", null, blockLink(app, b, {key: "crumb" + i}), arrow(i === last, "→")),
      ),
    ),
    last > 0 ? drop("Drop the last", 0, last) : null,
  );
}

/** @param {import("../main.js").App} app @param {any} block */
function actions(app, block) {
  if (block.label === null) return null;
  const button = (filter, key) =>
    h(
      "button",
      {
        type: "button",
        title: EFFECTS[filter],
        data: {key: "act " + filter},
        onclick: () => applyFilter(app, filter, block.label),
      },
      filter[0].toUpperCase() + filter.slice(1),
      " ",
      h("kbd", null, key),
    );
  return h(
    "p.actions",
    null,
    button("select", "s"),
    button("exclude", "e"),
    button("fold", "f"),
    h(
      "a.button",
      {href: href(filtered(to(app.state, "flame"), "select", block.label))},
      "Flame graph",
    ),
    block.file
      ? h(
          "a.button",
          {href: href(to(app.state, "source", {file: block.file, line: block.line || 0}))},
          "Source",
        )
      : null,
  );
}

/**
 * Says so if a filter has removed the block.
 * @param {import("../model/url.js").State} state
 * @param {any[]} blocks
 */
function filteredNote(state, blocks) {
  const has = filter => blocks.some(block => state[filter].includes(block.label));
  if (has("fold")) return h("p", null, "It is folded: what was its own stands with its callers.");
  return has("exclude") ? h("p", null, "Its paths are excluded.") : null;
}

/** @param {any} answer @param {import("../parts/block.js").Block|null} block */
function recursiveTag(answer, block) {
  if (block?.recursion)
    return h("span.tag.recursive", {title: recursionText(block.recursion)}, "↻ recursive");
  return answer.recursive
    ? h("span.tag.recursive", {title: "It can reach itself again."}, "↻ recursive")
    : null;
}

/** How often and how deep. @param {import("../parts/block.js").Recursion|null|undefined} recursion */
function recursionFigures(recursion) {
  if (!recursion) return null;
  const {direct, through, deepest} = recursion;
  return [
    direct === 0 ? null : countFigure("Calls itself", direct),
    through === 0 ? null : countFigure("Recursive through others", through),
    deepest ? countFigure("Deepest", deepest, "on one stack") : null,
  ];
}

/**
 * The calls around the block, as a picture.
 * @param {import("../main.js").App} app
 * @param {any} near
 */
function picture(app, near) {
  if (!near?.flows.length) return null;
  const {rows, flows} = near;
  const name = i => near.blocks[rows[i].block].name;
  // Row 0 is the block itself.
  const hidden =
    near.caller_count -
    flows.filter(edge => edge.to === 0 && edge.from !== 0).length +
    near.callee_count -
    flows.filter(edge => edge.from === 0 && edge.to !== 0).length;
  return h(
    "section.picture",
    null,
    h(
      "h2",
      null,
      "Call graph ",
      h(
        "span.aside-title",
        null,
        "the strongest calls on its paths; an arrow is as thick as what is spent below it",
      ),
    ),
    graph(
      app,
      near,
      {
        label: `Calls around ${name(0).slice(0, 80)}, callers on the left`,
        nodes: rows.map(row => ({
          block: near.blocks[row.block],
          value: row.value,
          kind: row.layer ? "" : "centre",
        })),
        edges: flows,
        told: ({from, to: target, value}) =>
          `${name(from).slice(0, 80)} calls ${name(target).slice(0, 80)}: ` +
          `${amount(value, near.unit, near.decimals)}, ${percent(value, near.total)}`,
        place: room =>
          inLayers(
            rows.map(row => row.layer),
            flows,
            room,
          ),
        key: "near",
      },
      app.room,
    ),
    hidden > 0
      ? h("p.note", null, `Not drawn: ${plural(hidden, "weaker call")} of it or by it.`)
      : null,
  );
}

/** @param {import("../main.js").App} app @param {any} answer */
function heading(app, answer) {
  const blocks = answer.sequence.map(b => answer.blocks[b]);
  const block = blocks[blocks.length - 1];
  const single = blocks.length === 1;
  return [
    h(
      "div.title",
      null,
      h(
        "p.over-title",
        null,
        single ? "Block" : `Sequence of ${blocks.length} blocks`,
        recursiveTag(answer, single ? block : null),
        block.mark ? h("span.tag", null, block.mark) : null,
      ),
      single
        ? h(
            "h1.block-name",
            {
              tabindex: "-1",
              data: {label: block.label, file: block.file ?? "", line: block.line ?? 0},
            },
            h("bdi", null, shownName(block.name)),
          )
        : h("h1", {tabindex: "-1"}, crumbs(app, answer)),
      single
        ? h("p.where", null, h("bdi", {dir: "ltr"}, fileLine(block) || meaningOf(block.mark)))
        : null,
      filteredNote(app.state, blocks),
    ),
    h(
      "dl.figures",
      null,
      figure("Self", answer.self, answer),
      figure("Overall", answer.overall, answer),
      answer.calls !== null || countsCalls(app) ? countFigure("Calls", answer.calls) : null,
      single ? recursionFigures(block.recursion) : null,
    ),
    single ? actions(app, block) : null,
  ];
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const head = h("div.around-head");
  const drawn = h("div.pictures");
  const sides = h("div.sides");
  const sandwich = new Sandwich(app);
  const name = state => state.block[state.block.length - 1] ?? "Block";
  const query = (state, more) => question(state, {block: state.block, ...more});
  return {
    element: h("div.page", null, head, drawn, sides, sandwich.element),
    title: state =>
      state.block.length > 1 ? state.block.join(" → ").slice(0, 200) : name(state).slice(0, 200),
    async load(state, signal) {
      if (!state.block.length) return null;
      const limit = state.rows ? MOST : FIRST;
      const [answer, near, between, groups] = await Promise.all([
        ask("around", query(state, {in_limit: limit, out_limit: limit}), signal),
        state.block.length === 1 ? ask("neighbourhood", query(state, {}), signal) : null,
        sandwich.load(state, signal),
        hueGroups(app, signal),
      ]);
      return {...answer, near, sandwich: between, groups};
    },
    show(state, answer) {
      if (!answer) {
        fill(
          head,
          h(
            "div.title",
            null,
            h("h1", {tabindex: "-1"}, "Block"),
            h(
              "p",
              null,
              "Which one? Press ",
              h("kbd", null, "/"),
              " and type a part of its name, or choose one from ",
              h("a", {href: href(to(state, "self"))}, "the table"),
              ".",
            ),
          ),
        );
        fill(drawn);
        sandwich.show(null);
        return fill(sides);
      }
      fill(head, heading(app, answer));
      fill(drawn, picture(app, answer.near));
      sandwich.show(answer.sandwich, answer.groups);
      fill(sides, sideTable(app, answer, "callers"), sideTable(app, answer, "callees"));
    },
    close: () => sandwich.close(),
    csv: state => (state.block.length ? apiUrl("around", query(state, {format: "csv"})) : null),
  };
}
