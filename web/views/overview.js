// SPDX-License-Identifier: MIT
//
// Overview: what was recorded, how much of it, and where to look first.

import {colourBy, fillOf} from "../model/colour.js";
import {amount, count, duration, percent, plural} from "../model/format.js";
import {changed, href, question, to} from "../model/url.js";
import {blockLink} from "../parts/block.js";
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
      kind === "self" ? "Where it is spent: self" : "What leads there: overall",
      [
        {title, kind: "num", below: amountHead(scale)},
        {title: "Block", kind: "name"},
      ],
      rows,
      "Nothing was charged.",
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

/** @param {import("../main.js").App} app @param {any} answer */
function knotTable(app, answer) {
  const scale = scaleOf(answer);
  const rows = answer.knots.map((knot, i) => {
    const names = knot.members
      .slice(0, 3)
      .map((b, j) => [
        j ? h("span", null, ", ") : "",
        blockLink(app, answer.blocks[b], {key: `knot${i}`}),
      ]);
    const more = knot.member_count - Math.min(3, knot.members.length);
    return [
      amountCell(knot.overall, answer, scale, "overall"),
      h("td.calls", null, count(knot.member_count)),
      h(
        "th.name.inline",
        {scope: "row"},
        names,
        more > 0 ? h("span.part", null, ` and ${count(more)} more`) : null,
      ),
    ];
  });
  return h(
    "section",
    null,
    plainTable(
      "Recursion: what calls itself",
      [
        {title: "Overall", kind: "num", below: amountHead(scale)},
        {title: "Blocks", kind: "calls"},
        {title: "Members", kind: "name"},
      ],
      rows,
      "No recursion: no block reaches itself.",
    ),
    h(
      "p.foot",
      null,
      h("a", {href: href(to(app.state, "recursion")), data: {key: "all recursion"}}, "All recursion"),
    ),
  );
}

/** @param {import("../main.js").App} app @param {any} answer */
function totalsTable(app, answer) {
  const rows = answer.totals.map(total => [
    h(
      "th.name",
      {scope: "row"},
      h(
        "a",
        {
          href: href(
            changed(app.state, {
              metric: total.metric === app.file.default_metric ? "" : total.metric,
            }),
          ),
          data: {key: "metric " + total.metric},
          "aria-current": total.metric === answer.metric ? "true" : null,
        },
        h("bdi", null, total.metric),
      ),
    ),
    h("td.calls", null, amount(total.total, total.unit, total.decimals)),
    h("td.calls", null, amount(total.left, total.unit, total.decimals, total.total)),
    h("td.calls", null, percent(total.left, total.total)),
  ]);
  return h(
    "section",
    null,
    plainTable(
      "Totals",
      [
        {title: "Metric", kind: "name"},
        {title: "All", kind: "calls"},
        {title: "Left", kind: "calls"},
        {title: "of all", kind: "calls"},
      ],
      rows,
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
    ["Recursion", file.rule ? (RULES[file.rule] ?? file.rule) : null],
    ["Size", `${plural(file.block_count, "block")}, ${plural(file.node_count, "path")}`],
  ].filter(([, value]) => value);
  return h(
    "section.recorded",
    null,
    h("h2", null, "What was recorded"),
    h(
      "dl",
      null,
      known.map(([key, value]) => [h("dt", null, key), h("dd", null, h("bdi", null, value))]),
    ),
  );
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
    this.above = h("div.grid.above");
    this.below = h("div.grid.tops");
    this.element = h(
      "div.page",
      null,
      h("div.title", null, this.heading),
      this.above,
      this.flame,
      this.below,
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
    fill(this.above, facts(app.file), totalsTable(app, answer));
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
        "Large, with search and zoom",
      ),
    );
    fill(
      this.below,
      topTable(app, answer, "self"),
      topTable(app, answer, "overall"),
      knotTable(app, answer),
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
