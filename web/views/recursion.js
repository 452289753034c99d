// SPDX-License-Identifier: MIT
//
// Recursion: groups of blocks that call each other in a circle, each as one thing, with the calls
// into it and out of it.

import {count, plural} from "../model/format.js";
import {window} from "../model/table.js";
import {changed, href, question} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {amountCell, amountHead, callsAreKnown, figure, scaleOf} from "../parts/numbers.js";
import {plainTable, searchField} from "../parts/table.js";
import {foot} from "../model/table.js";

const FIRST = 20;

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
    calls ? h("td.calls", null, count(row.calls)) : null,
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
      direction === "in" ? "Going in" : "Going out",
      [
        {title: "Overall", kind: "num", below: amountHead(scale)},
        ...(calls ? [{title: "Calls", kind: "calls"}] : []),
        {title: direction === "in" ? "From" : "To", kind: "name"},
      ],
      rows,
      direction === "in" ? "Nothing goes in." : "Nothing goes out.",
    ),
    more > 0 ? h("p.foot", null, `and ${count(more)} more`) : null,
  );
}

/**
 * @param {import("../main.js").App} app
 * @param {any} answer
 * @param {any} group
 * @param {number} index
 */
function groupPart(app, answer, group, index) {
  const key =
    "group" +
    group.members
      .map(b => answer.blocks[b].label)
      .join(" ")
      .slice(0, 200);
  const more = group.member_count - group.members.length;
  const direct = group.member_count === 1;
  return h(
    "article.group",
    {"aria-labelledby": "group-" + index},
    h(
      "header",
      null,
      h(
        "h2",
        {id: "group-" + index},
        direct ? "Calls itself" : plural(group.member_count, "block") + " in a circle",
        h("span.tag", null, `↻ ${plural(group.deepest, "block")} deep`),
      ),
      h(
        "dl.figures",
        null,
        figure("Self", group.self, answer),
        figure("Overall", group.overall, answer),
        group.calls === null
          ? null
          : h(
              "div.figure",
              null,
              h("dt", null, "Calls from outside"),
              h("dd", null, h("span.value", null, count(group.calls))),
            ),
      ),
    ),
    h(
      "ul.members",
      {"aria-label": "Members"},
      group.members.map(b => h("li", null, blockLink(app, answer.blocks[b], {key: key + "m"}))),
      more > 0 ? h("li.part", null, `and ${count(more)} more`) : null,
    ),
    h(
      "div.group-flow",
      null,
      flow(app, answer, group, "in", key),
      flow(app, answer, group, "out", key),
    ),
  );
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const search = searchField(app, "Search in groups", "Name or file of a member");
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
          "Blocks that call each other in a circle, each group taken as one: what goes into the circle " +
            "and what leaves it.",
        ),
      ),
      h("div.over", null, search.element),
      list,
      below,
    ),
    title: () => "Recursion",
    load: (state, signal) => ask("knots", query(state, window(state, FIRST)), signal),
    show(state, answer) {
      search.show(state.search);
      fill(
        list,
        answer.rows.length
          ? answer.rows.map((group, i) => groupPart(app, answer, group, i))
          : h(
              "p.nothing",
              null,
              state.search
                ? "No group has such a member."
                : "No recursion here: no block reaches itself.",
            ),
      );
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
