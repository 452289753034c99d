// SPDX-License-Identifier: MIT
//
// Overview: what stands out, in sentences that lead to where it can be seen; then how much there is
// of each metric, the flame graph, the tops of the tables, and last what was recorded.

import {colourBy, fillOf} from "../model/colour.js";
import {amount, count, duration, exact, percent, plural} from "../model/format.js";
import {changed, hasFilters, href, question, to} from "../model/url.js";
import {blockLink, recursionMark, shownName} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {FlameCanvas} from "../parts/flame_canvas.js";
import {amountCell, amountHead, scaleOf} from "../parts/numbers.js";
import {plainTable} from "../parts/table.js";
import {Tooltip, boxFacts} from "../parts/tooltip.js";
import {hueGroups} from "./flame.js";

const RULES = {
  loops: "loops: a step is repeated only after something new",
  cycles: "cycles",
  edges: "edges",
  none: "none: stacks as they were",
};
const SHORTEN = 60; // letters of a name in a sentence

/**
 * A sentence in parts: texts, and blocks by their places. The whole sentence is the link.
 * @param {import("../main.js").App} app
 * @param {any} answer
 * @param {any} finding
 * @param {number} i
 */
function findingItem(app, answer, finding, i) {
  const blockOf = place => (place === null || place === undefined ? null : answer.blocks[place]);
  const parts = finding.text.map(part => {
    if (typeof part === "string") return part;
    const {name} = blockOf(part.block) ?? {name: "(root)"};
    return h("bdi.named", {title: name.length > SHORTEN ? name : null}, cut(shownName(name)));
  });
  const about = blockOf(finding.link?.block);
  const target = about?.label
    ? to(app.state, finding.link.page, {block: [about.label]})
    : to(app.state, finding.link?.page ?? "self");
  return h(
    "li",
    {data: {kind: finding.kind ?? ""}},
    h("a", {href: href(target), data: {key: "finding " + i}}, parts),
  );
}

/** @param {string} name */
function cut(name) {
  return name.length > SHORTEN ? "…" + name.slice(1 - SHORTEN) : name;
}

/** Nothing if there is nothing to say. @param {import("../main.js").App} app @param {any} answer */
function findingList(app, answer) {
  const findings = answer.findings ?? [];
  if (!findings.length) return null;
  return [
    h("h2", {id: "findings"}, "Start here"),
    h(
      "ol",
      {"aria-labelledby": "findings"},
      findings.map((finding, i) => findingItem(app, answer, finding, i)),
    ),
  ];
}

/** @param {import("../main.js").App} app @param {any} answer @param {"self"|"overall"} kind */
function topTable(app, answer, kind) {
  const scale = scaleOf(answer);
  const rows = answer[kind].map(row => [
    amountCell(row[kind], answer, scale, kind),
    h(
      "th.name",
      {scope: "row"},
      blockLink(app, answer.blocks[row.block], {key: kind, where: true}),
    ),
  ]);
  const title = kind === "self" ? "Self" : "Overall";
  return h(
    "section",
    null,
    plainTable(
      kind === "self"
        ? ["Self ", h("span.aside-title", null, "where it is spent")]
        : ["Overall ", h("span.aside-title", null, "what leads there")],
      [
        {title, kind: "num", below: amountHead(scale)},
        {title: "Block", kind: "name"},
      ],
      rows,
      emptyText(app.state),
    ),
    h(
      "p.foot",
      null,
      h(
        "a",
        {href: href(to(app.state, kind)), data: {key: "all " + kind}},
        `All blocks by ${kind}`,
      ),
    ),
  );
}

/** What to do about it. @param {import("../model/url.js").State} state */
function emptyText(state) {
  return hasFilters(state)
    ? "The filters leave nothing of this metric. Remove one at the top."
    : "Nothing was spent. Choose another metric at the top.";
}

/** @param {import("../main.js").App} app @param {any} answer */
function recursionTable(app, answer) {
  const scale = scaleOf(answer);
  const rows = answer.knots.map((knot, i) => {
    const blocks = knot.members.slice(0, 3).map(b => answer.blocks[b]);
    const names = blocks.map((block, j) => [
      j ? h("span", null, ", ") : "",
      blockLink(app, {...block, recursion: null}, {key: `knot${i}`}),
    ]);
    const more = knot.member_count - blocks.length;
    return [
      amountCell(knot.overall, answer, scale, "overall"),
      h(
        "th.name.inline",
        {scope: "row"},
        names,
        more > 0 ? h("span.part", null, ` and ${count(more)} more `) : " ",
        recursionMark({direct: knot.direct, through: knot.through, deepest: knot.deepest}),
      ),
    ];
  });
  return h(
    "section",
    null,
    plainTable(
      ["Recursion ", h("span.aside-title", null, "what calls itself, ↻ how deep")],
      [
        {title: "Overall", kind: "num", below: amountHead(scale)},
        {title: "Blocks", kind: "name"},
      ],
      rows,
      "No recursion: no block reaches itself.",
    ),
    h(
      "p.foot",
      null,
      h(
        "a",
        {href: href(to(app.state, "recursion")), data: {key: "all recursion"}},
        answer.knot_count > answer.knots.length
          ? `All recursion: ${plural(answer.knot_count, "group")}`
          : "All recursion",
      ),
    ),
  );
}

/** One per metric; a click chooses it. @param {import("../main.js").App} app @param {any} answer */
function metricTiles(app, answer) {
  return answer.totals.map(total =>
    h(
      "li",
      null,
      h(
        "a.tile",
        {
          href: href(
            changed(app.state, {
              metric: total.metric === app.file.default_metric ? "" : total.metric,
            }),
          ),
          data: {key: "metric " + total.metric},
          "aria-current": total.metric === answer.metric ? "true" : null,
        },
        h("bdi.metric", null, total.metric),
        h(
          "span.value",
          {
            title: exact(total.left, total.unit, total.decimals),
            data: {exact: String(total.left)},
          },
          amount(total.left, total.unit, total.decimals),
        ),
        total.left === total.total
          ? null
          : h(
              "span.part",
              null,
              `${percent(total.left, total.total)} of `,
              amount(total.total, total.unit, total.decimals),
            ),
      ),
    ),
  );
}

/** @param {any} file */
function facts(file) {
  const when = file.start ? new Date(file.start) : null;
  const known = [
    ["File", file.path],
    ["Format", file.format],
    ["Started", when && !Number.isNaN(when.getTime()) ? when.toLocaleString() : null],
    ["Lasted", file.seconds === null || file.seconds === undefined ? null : duration(file.seconds)],
    ["Compaction", file.rule ? (RULES[file.rule] ?? file.rule) : null],
    ["Size", `${plural(file.block_count, "block")}, ${plural(file.node_count, "path")}`],
  ].filter(([, value]) => value);
  return [
    h("h2", null, "What was recorded"),
    h(
      "dl",
      null,
      known.map(([key, value]) => [h("dt", null, key), h("dd", null, h("bdi", null, value))]),
    ),
  ];
}

class Overview {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.tooltip = new Tooltip();
    this.heading = h("h1", {tabindex: "-1"}, "Overview");
    this.graph = new FlameCanvas(
      {label: "Small flame graph", rowHeight: 15, isDark: () => app.dark},
      {
        zoom: path => app.go(to(app.state, "flame", {path})),
        pick: row => this.say(row),
        hover: (row, point) =>
          this.tooltip.show(
            row >= 0 ? boxFacts(this.graph.flame, this.graph.blocks, this.answer, row) : null,
            point,
          ),
      },
    );
    this.more = h("p.foot");
    this.flame = h(
      "section.small-flame",
      null,
      h("h2", null, "Flame graph"),
      this.graph.element,
      this.more,
    );
    this.findings = h("section.findings");
    this.tiles = h("ul.tiles", {"aria-label": "Metrics"});
    this.below = h("div.grid.tops");
    this.recorded = h("section.recorded");
    this.element = h(
      "div.page",
      null,
      h("div.title", null, this.heading),
      this.findings,
      this.tiles,
      this.flame,
      this.below,
      this.recorded,
    );
  }

  say(row) {
    const told = boxFacts(this.graph.flame, this.graph.blocks, this.answer, row);
    this.app.say(`${told.name}. Overall ${told.overall}. Self ${told.self}. ${told.recursion}`);
  }

  async load(state, signal) {
    const [answer, groups] = await Promise.all([
      ask("overview", question(state), signal),
      hueGroups(this.app, signal),
    ]);
    return {...answer, groups};
  }

  show(state, answer) {
    const {app} = this;
    this.answer = answer;
    fill(this.heading, h("bdi", null, app.file.title || "Overview"));
    const findings = findingList(app, answer);
    this.findings.hidden = !findings;
    fill(this.findings, findings);
    fill(this.tiles, metricTiles(app, answer));
    fill(this.recorded, facts(app.file));
    this.graph.show({
      flame: answer.flame,
      blocks: answer.blocks,
      at: answer.flame.at,
      fill: fillOf(answer.flame, answer.blocks, colourBy("", answer.groups), answer.groups),
    });
    this.flame.hidden = !answer.flame.value?.[0];
    fill(
      this.more,
      h(
        "a",
        {href: href(to(state, "flame")), data: {key: "all flame"}},
        "The whole flame graph, with search and zoom",
      ),
    );
    fill(
      this.below,
      topTable(app, answer, "self"),
      topTable(app, answer, "overall"),
      recursionTable(app, answer),
    );
  }

  close() {
    this.graph.close();
    this.tooltip.close();
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const view = new Overview(app);
  return {
    element: view.element,
    title: () => "Overview",
    load: (state, signal) => view.load(state, signal),
    show: (state, answer) => view.show(state, answer),
    csv: state => apiUrl("blocks", question(state, {sort: "-self", format: "csv"})),
    csvName: "Blocks as CSV",
    close: () => view.close(),
  };
}
