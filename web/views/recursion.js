// SPDX-License-Identifier: MIT
//
// Recursion: groups of blocks that call each other, each drawn as a circle, with the calls into it
// and out of it; and blocks that only call themselves, as a table.

import {MEMBERS, onCircle} from "../model/circle.js";
import {amount, count, percent, plural} from "../model/format.js";
import {foot, window} from "../model/table.js";
import {changed, href, question} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {graph} from "../parts/graph.js";
import {
  amountCell,
  amountHead,
  callsAreKnown,
  countCell,
  countFigure,
  figure,
  scaleOf,
} from "../parts/numbers.js";
import {plainTable, searchField} from "../parts/table.js";

const FIRST = 20;
const CARD = 34, // pixels that the frame of a group takes
  NARROWEST = 40, // a group beside another, in the unit of the style sheet
  BETWEEN = 20;

/** Pixels for a picture. @param {import("../main.js").App} app @param {number} groups */
function roomOf(app, groups) {
  const least = NARROWEST * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const most = Math.floor((app.room + BETWEEN) / (least + BETWEEN));
  const columns = Math.max(1, Math.min(groups, most));
  return (app.room - (columns - 1) * BETWEEN) / columns - CARD;
}

/** @param {any} group */
function membersOf(group) {
  return (
    group.member_rows ??
    group.members.map(block => ({block, self: null, overall: null, direct: null, deepest: null}))
  );
}

/**
 * @param {import("../main.js").App} app
 * @param {any} answer
 * @param {any} group
 * @param {"in"|"out"} direction
 * @param {string} key
 */
function flow(app, answer, group, direction, key) {
  const scale = scaleOf(answer);
  const calls = callsAreKnown(group[direction]);
  const rows = group[direction].map(row => [
    amountCell(row.overall, answer, scale, "overall"),
    calls ? countCell(row.calls) : null,
    h(
      "th.name",
      {scope: "row"},
      blockLink(app, row.block === null ? null : answer.blocks[row.block], {
        key: key + direction,
        where: true,
      }),
    ),
  ]);
  const more = group[direction + "_count"] - rows.length;
  return h(
    "section",
    null,
    plainTable(
      direction === "in"
        ? ["Callers ", h("span.aside-title", null, "going in: who calls into it")]
        : ["Callees ", h("span.aside-title", null, "going out: what it calls outside")],
      [
        {title: "Overall", kind: "num", below: amountHead(scale)},
        ...(calls ? [{title: "Calls", kind: "calls"}] : []),
        {title: direction === "in" ? "Caller" : "Callee", kind: "name"},
      ],
      rows,
      direction === "in" ? "Nothing calls into it." : "It calls nothing outside.",
    ),
    more > 0 ? h("p.foot", null, `and ${count(more)} more`) : null,
  );
}

/**
 * The members and what flows between them.
 * @param {import("../main.js").App} app
 * @param {any} answer
 * @param {any} group
 * @param {string} key
 * @param {number} room
 */
function picture(app, answer, group, key, room) {
  const members = membersOf(group).slice(0, MEMBERS);
  const place = new Map(members.map((member, i) => [member.block, i]));
  const edges = (group.edges ?? [])
    .filter(edge => edge.from !== edge.to && place.has(edge.from) && place.has(edge.to))
    .map(edge => ({...edge, from: place.get(edge.from), to: place.get(edge.to)}));
  if (!edges.length) return null;
  const name = i => answer.blocks[members[i].block].name.slice(0, 80);
  const told = edge =>
    edge.from === edge.to
      ? `${name(edge.from)} calls itself ${plural(members[edge.from].direct, "time")}`
      : `${name(edge.from)} calls ${name(edge.to)}: ` +
        `${amount(edge.value, answer.unit, answer.decimals)}, ${percent(edge.value, answer.total)}` +
        (edge.calls ? `, ${plural(edge.calls, "call")}` : "");
  const loops = members.map(member => Boolean(member.direct));
  const hidden = Math.max(0, group.member_count - members.length);
  const notDrawn = Math.max(0, (group.edge_count ?? 0) - edges.length);
  const notes = [
    hidden ? plural(hidden, "more member") : "",
    notDrawn ? plural(notDrawn, "weaker call") : "",
  ].filter(Boolean);
  return h(
    "div.picture",
    null,
    graph(
      app,
      answer,
      {
        label: `Calls between ${plural(members.length, "block")}`,
        nodes: members.map(member => ({
          block: answer.blocks[member.block],
          value: member.overall,
        })),
        edges: [...edges, ...loops.flatMap((loop, i) => (loop ? [{from: i, to: i, value: 0}] : []))],
        told,
        place: room => onCircle(members.length, edges, loops, room),
        key: key + "g",
      },
      room,
    ),
    notes.length ? h("p.note", null, `Not drawn: ${notes.join(" and ")}.`) : null,
  );
}

/** How often and how deep each member recursed.
 * @param {import("../main.js").App} app @param {any} answer @param {any[]} members
 * @param {string} caption @param {string} key */
function memberTable(app, answer, members, caption, key) {
  const scale = scaleOf(answer);
  const through = members.some(member => member.through !== 0); // null: not counted
  const deep = members.some(member => member.deepest);
  const rows = members.map(member => [
    amountCell(member.overall, answer, scale, "overall"),
    amountCell(member.self, answer, scale, "self"),
    deep ? countCell(member.deepest, "–") : null,
    countCell(member.direct),
    through ? countCell(member.through) : null,
    h(
      "th.name",
      {scope: "row"},
      blockLink(app, {...answer.blocks[member.block], recursion: null}, {key, where: true}),
    ),
  ]);
  return plainTable(
    caption,
    [
      {title: "Overall", kind: "num", below: amountHead(scale)},
      {title: "Self", kind: "num.self", below: amountHead(scale)},
      ...(deep ? [{title: "Deepest", kind: "calls"}] : []),
      {title: "Calls itself", kind: "calls"},
      ...(through ? [{title: "Through others", kind: "calls"}] : []),
      {title: "Block", kind: "name"},
    ],
    rows,
  );
}

/**
 * @param {import("../main.js").App} app
 * @param {any} answer
 * @param {any} group
 * @param {number} index
 * @param {number} room
 */
function groupPart(app, answer, group, index, room) {
  const members = membersOf(group);
  const key =
    "group" +
    members
      .map(member => answer.blocks[member.block].label)
      .join(" ")
      .slice(0, 200);
  const more = group.member_count - members.length;
  const drawn = picture(app, answer, group, key, room);
  return h(
    "article.group",
    {"aria-labelledby": "group-" + index},
    h(
      "header",
      null,
      h(
        "h2",
        {id: "group-" + index},
        plural(group.member_count, "block") + " call each other",
        h("span.tag.recursive", null, "↻ mutual recursion"),
      ),
      h(
        "dl.figures",
        null,
        figure("Overall", group.overall, answer),
        figure("Self", group.self, answer),
        group.deepest ? countFigure("Deepest", group.deepest, "on one stack") : null,
        group.through ? countFigure("Entered again through others", group.through) : null,
        group.direct ? countFigure("Calls of itself", group.direct) : null,
        group.calls === null ? null : countFigure("Calls from outside", group.calls),
      ),
    ),
    drawn,
    h(
      "details.more-about",
      {data: {key: key + "d"}},
      h("summary", null, "Members, callers and callees"),
      h(
        "div.group-flow",
        null,
        h(
          "section.whole",
          null,
          memberTable(app, answer, members, "Members", key + "m"),
          more > 0 ? h("p.foot", null, `and ${count(more)} more`) : null,
        ),
        flow(app, answer, group, "in", key),
        flow(app, answer, group, "out", key),
      ),
    ),
  );
}

/** @param {number} blocks */
function onlyItself(blocks) {
  return blocks === 1
    ? "1 block calls only itself"
    : `${count(blocks)} blocks call only themselves`;
}

/** Blocks that recurse alone. @param {import("../main.js").App} app @param {any} answer
 * @param {any[]} groups */
function alonePart(app, answer, groups) {
  const rows = groups.map(group => ({
    ...membersOf(group)[0],
    overall: group.overall,
    self: group.self,
    deepest: group.deepest,
  }));
  return h(
    "article.group.alone",
    {"aria-labelledby": "alone"},
    h(
      "header",
      null,
      h(
        "h2",
        {id: "alone"},
        onlyItself(rows.length),
        h("span.tag.recursive", null, "↻ direct recursion"),
      ),
    ),
    memberTable(app, answer, rows, h("span.unseen", null, "Direct recursion"), "alone"),
  );
}

/** The whole page in a sentence. @param {any} answer @param {any[]} mutual @param {any[]} alone */
function summary(answer, mutual, alone) {
  const deepest = answer.rows.reduce(
    (most, group) => (group.deepest > (most?.deepest ?? 0) ? group : most),
    null,
  );
  const kinds = [
    mutual.length ? plural(mutual.length, "group") + " of blocks that call each other" : "",
    alone.length ? onlyItself(alone.length) : "",
  ].filter(Boolean);
  const known = answer.rows.every(group => group.deepest !== null);
  return [
    kinds.join("; "),
    known && deepest?.deepest > 1
      ? [
          ". The deepest is ",
          h("bdi.named", null, deepestMember(answer, deepest)),
          `, ${count(deepest.deepest)} deep`,
        ]
      : null,
    ".",
  ];
}

/** @param {any} answer @param {any} group */
function deepestMember(answer, group) {
  // Of a large group only the most expensive members are known here.
  const one = membersOf(group).find(member => member.deepest === group.deepest);
  if (one) return answer.blocks[one.block].name.slice(0, 80);
  return `a member of the group of ${count(group.member_count)}`;
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const search = searchField(app, "Search in groups", "Name or file of a member");
  const told = h("p.found");
  const list = h("div.groups");
  const below = h("div.foot");
  const query = (state, more) => question(state, {search: state.search, sort: state.sort, ...more});
  return {
    element: h(
      "div.page",
      null,
      h(
        "div.title",
        null,
        h("h1", {tabindex: "-1"}, "Recursion"),
        h(
          "p",
          null,
          "Which blocks lead back to themselves, how often and how deep. A group of blocks that call each other is " +
            "taken as one; arrows are as thick as what is spent below the call.",
        ),
      ),
      h("div.over", null, search.element, told),
      list,
      below,
    ),
    title: () => "Recursion",
    load: (state, signal) => ask("knots", query(state, window(state, FIRST)), signal),
    show(state, answer) {
      search.show(state.search);
      const mutual = answer.rows.filter(group => group.member_count > 1);
      const alone = answer.rows.filter(group => group.member_count === 1);
      const opened = new Set(
        [...list.querySelectorAll("details[open]")].map(
          one => /** @type {HTMLElement} */ (one).dataset.key,
        ),
      );
      const room = roomOf(app, mutual.length + (alone.length ? 1 : 0));
      const parts = mutual.map((group, i) => groupPart(app, answer, group, i, room));
      if (alone.length) parts.push(alonePart(app, answer, alone));
      fill(told, answer.rows.length ? summary(answer, mutual, alone) : "");
      fill(list, answer.rows.length ? parts : h("p.nothing", null, nothing(app, state)));
      for (const one of list.querySelectorAll("details"))
        one.open = opened.has(one.dataset.key) || mutual.length === 1;
      const f = foot(answer.count, answer.offset, answer.rows.length);
      fill(
        below,
        answer.count > f.to
          ? [
              h("span", null, `${count(f.to)} of ${count(answer.count)} groups`),
              f.more
                ? h(
                    "button",
                    {
                      type: "button",
                      data: {key: "more"},
                      onclick: () => app.go(changed(state, {rows: f.more}), {replace: true}),
                    },
                    "More groups",
                  )
                : h("a.button", {href: href(changed(state, {offset: f.to}))}, "Next"),
            ]
          : null,
      );
    },
    csv: state => apiUrl("knots", query(state, {format: "csv"})),
  };
}

/**
 * What to do about it.
 * @param {import("../main.js").App} app
 * @param {import("../model/url.js").State} state
 */
function nothing(app, state) {
  if (state.search) return "No group has such a member. Search for another name or file.";
  return "No recursion here: no block reaches itself. The call tree shows who calls whom.";
}
