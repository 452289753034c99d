// SPDX-License-Identifier: MIT
//
// Compare: two profiles, first in a sentence, then block by block. Orange is more than before, blue
// is less; a sign and a word say the same, for readers who do not see the colours.

import {
  amount,
  compact,
  count,
  exact,
  fileLine,
  growth,
  percent,
  share,
  unitAbove,
} from "../model/format.js";
import {shownMetric} from "../model/metrics.js";
import {choiceNoun, keptText} from "../model/slices.js";
import {window} from "../model/table.js";
import {changed, hasFilters, href, question, to} from "../model/url.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {blockLink} from "../parts/block.js";
import {Table} from "../parts/table.js";
import {DifferenceGraph, sideOf} from "./difference.js";

const STATES = {slower: "▲ more", faster: "▼ less", new: "+ new", gone: "− gone", same: "= same"};

/** Three digits with their unit. @param {number} value @param {any} answer */
function short(value, answer) {
  const {text, unit} = compact(value, answer.unit, answer.decimals);
  return unit ? `${text} ${unit}` : text;
}

/** The same of a change, with its sign. @param {number} value @param {any} answer */
function signedShort(value, answer) {
  return (value > 0 ? "+" : "") + short(value, answer);
}

/** What a copy has. @param {number} value @param {any} answer */
function everyDigit(value, answer) {
  return (value / 10 ** answer.decimals).toFixed(answer.decimals);
}

/**
 * The largest change of the table, for its bars.
 * @param {any} answer
 * @param {"self"|"overall"} kind
 */
function most(answer, kind) {
  return Math.max(
    1,
    ...answer.rows.map(row => Math.abs(row[kind + "_after"] - row[kind + "_before"])),
  );
}

/** @param {any} row @param {any} answer @param {"self"|"overall"} kind */
function changeCell(row, answer, kind) {
  const before = row[kind + "_before"],
    after = row[kind + "_after"],
    by = after - before;
  const sign = by > 0 ? "worse" : by < 0 ? "better" : "same";
  return h(
    `td.num.change.${sign}${kind === "overall" ? ".extra" : ""}`,
    {title: exact(by, answer.unit, answer.decimals)},
    h("span.value", {data: {exact: everyDigit(by, answer)}}, signedShort(by, answer)),
    h("span.part", null, growth(before, after)),
    h("span.both-ways", {
      "aria-hidden": "true",
      vars: {"--share": share(Math.abs(by), answer.most[kind])},
    }),
  );
}

/** @param {number} value @param {any} answer @param {"before"|"after"} side */
function sideCell(value, answer, side) {
  return h(
    side === "before" ? "td.num.extra" : "td.num",
    {title: exact(value, answer.unit, answer.decimals)},
    h("span.value", {data: {exact: everyDigit(value, answer)}}, short(value, answer)),
    h("span.part", null, percent(value, answer["total_" + side])),
    answer.filtered
      ? h("span.part.of-left", null, percent(value, answer["left_" + side]))
      : null,
  );
}

const MATCHED = {
  name: "The same by its name",
  path: "Of several of the name, the one with the longest common end of the path",
  line: "Of several in the same place, the one of the nearest line",
};

/** How a block was found on both sides, and where it was before. @param {any} row */
function matchTitle(row) {
  if (!row.matched) return "Only one side has it";
  const before = fileLine({file: row.file_before, line: row.line_before});
  return MATCHED[row.matched] + (before ? ".\nBefore: " + before : "");
}

/** The address of a block of the comparison. What is gone can only be shown in the profile before.
 * @param {import("../main.js").App} app @param {any} block with its side */
function hrefOf(app, block) {
  const after = block.side === "after";
  const state = to(app.state, "block", {block: [block.label]});
  return href({...state, ...sideOf(app.state, after)});
}

/** @param {import("../main.js").App} app @param {any} row @param {any} answer */
function nameCell(app, row, answer) {
  const block = answer.blocks[row.block];
  return h(
    "th.name",
    {scope: "row"},
    blockLink(app, block, {key: "c" + row.block, where: true, href: hrefOf(app, block)}),
  );
}

/** @param {import("../main.js").App} app @returns {import("../parts/table.js").Column[]} */
function columns(app) {
  const units =
    (...texts) =>
    answer =>
      h(
        "span.units",
        null,
        h("span.value", null, unitAbove(answer.unit)),
        texts.filter(Boolean).map(text => h("span.part", null, text)),
      );
  return [
    {
      title: "Self, change",
      sort: "self",
      kind: "num",
      below: units("by"),
      cell: (row, answer) => changeCell(row, answer, "self"),
    },
    {
      title: "Self before",
      sort: "self_before",
      kind: "num.extra",
      below: answer => units("of all", answer.filtered ? "of left" : "")(answer),
      cell: (row, answer) => sideCell(row.self_before, answer, "before"),
    },
    {
      title: "Self after",
      sort: "self_after",
      kind: "num",
      below: answer => units("of all", answer.filtered ? "of left" : "")(answer),
      cell: (row, answer) => sideCell(row.self_after, answer, "after"),
    },
    {
      title: "Overall, change",
      sort: "overall",
      kind: "num.extra",
      below: units("by"),
      cell: (row, answer) => changeCell(row, answer, "overall"),
    },
    {
      title: "State",
      sort: "state",
      text: true,
      kind: "state",
      cell: row =>
        h("td.state." + row.state, {title: matchTitle(row)}, STATES[row.state] ?? row.state),
    },
    {
      // Usually the names tell it all.
      title: "Same by",
      kind: "matched.extra",
      when: answer => answer.rows.some(row => row.matched && row.matched !== "name"),
      cell: row => h("td.matched.extra", {title: matchTitle(row)}, row.matched ?? "–"),
    },
    {
      title: "Block",
      sort: "name",
      text: true,
      kind: "name",
      cell: (row, answer) => nameCell(app, row, answer),
    },
  ];
}

/** The totals of what the filters leave. @param {any} answer */
function figures(answer, titles) {
  const {unit, decimals} = answer;
  const by = answer.left_after - answer.left_before;
  const most = Math.max(Math.abs(answer.left_before), Math.abs(answer.left_after));
  const figure = (title, value, text, more, kind) =>
    h(
      "div.figure" + (kind ?? ""),
      null,
      h("dt", null, title),
      h(
        "dd",
        null,
        h("span.value", {title: exact(value, unit, decimals)}, text),
        h("span.part", null, more),
      ),
    );
  const side = (title, name) => {
    const left = answer["left_" + name],
      total = answer["total_" + name];
    const per = answer.per_slice ? ` per ${answer.name}` : "";
    const part = (left === total ? answer.metric : `${percent(left, total)} of all`) + per;
    return figure(title, left, amount(left, unit, decimals, most), part);
  };
  return [
    side(titles[0], "before"),
    side(titles[1], "after"),
    figure(
      "Change",
      by,
      (by > 0 ? "+" : by < 0 ? "−" : "") + amount(Math.abs(by), unit, decimals, most),
      growth(answer.left_before, answer.left_after),
      by > 0 ? ".worse" : by < 0 ? ".better" : "",
    ),
  ];
}

/**
 * "+36.9%: parse +140, extra new +144". The changes of self add up to that of the total.
 * @param {import("../main.js").App} app
 * @param {any} answer
 */
function headline(app, answer) {
  const {left_before: before, left_after: after, leading, changed: n} = answer;
  if (!before && !after) return "Nothing was recorded here on either side.";
  if (!n) return before === after ? "No block changed." : growth(before, after);
  const one = ({block: number, change, state}) => {
    const block = answer.blocks[number];
    return [
      blockLink(app, block, {key: "headline", href: hrefOf(app, block)}),
      ["new", "gone"].includes(state) ? ` ${state} ` : " ",
      h(
        change > 0 ? "span.worse" : "span.better",
        {title: exact(change, answer.unit, answer.decimals)},
        signedShort(change, answer),
      ),
    ];
  };
  const others = n - leading.length;
  return [
    h("strong", null, before === after ? "±0%" : growth(before, after)),
    ": ",
    leading.map((row, i) => [i ? ", " : "", one(row)]),
    others ? `, and ${count(others)} ${others === 1 ? "other" : "others"}` : "",
  ];
}

/**
 * Instead of a table, if the files have no metric in common.
 * @param {import("../main.js").App} app
 */
function nothingInCommon(app) {
  const {files} = app.profile;
  const names = file => file.metrics.map(metric => metric.name).join(", ") || "none";
  const one = (file, side, title) =>
    h(
      "li",
      null,
      h("a", {href: href({...to(app.state, "overview", {metric: ""}), side})}, title),
      " has ",
      h("bdi", null, names(file)),
    );
  return [
    h("p", null, "The two files have no metric in common, so there is nothing to compare."),
    h("ul", null, one(files[0], "", "Before"), one(files[1], "after", "After")),
    h("p", null, "Open two recordings of the same kind, or look at each by itself."),
  ];
}

/** @param {import("../model/url.js").State} state @param {any} answer */
function picks(state, answer) {
  if (!answer.states) return null;
  const all = Object.values(answer.states).reduce((sum, n) => sum + n, 0);
  const pick = (text, n, names) =>
    h(
      "li",
      null,
      h(
        "a",
        {
          href: href(changed(state, {state: names, rows: 0})),
          data: {key: "state " + text},
          "aria-current": names.join() === state.state.join() ? "true" : null,
        },
        text,
        " ",
        h("span.part", null, count(n)),
      ),
    );
  return h(
    "ul.picks",
    {"aria-label": "Which blocks"},
    pick("All", all, []),
    Object.keys(STATES).map(name => pick(STATES[name], answer.states[name] ?? 0, [name])),
  );
}

/** Table or flame graph. @param {import("../model/url.js").State} state */
function views(state) {
  const one = (text, view) =>
    h(
      "li",
      null,
      h(
        "a",
        {
          href: href(changed(state, {view, path: ""})),
          data: {key: "view " + view},
          "aria-current": state.view === view ? "true" : null,
        },
        text,
      ),
    );
  return h("ul.switch", {"aria-label": "Show as"}, one("Table", ""), one("Flame graph", "flame"));
}

/** @param {string} text */
const capital = text => text[0].toUpperCase() + text.slice(1);

/** Which files are compared, and how. @param {import("../main.js").App} app */
function filesText(app) {
  const [before, after] = app.profile.files;
  return [
    h("bdi", null, before.path),
    " → ",
    h("bdi", null, after?.path ?? ""),
    ". Blocks are the same if their names are; of several, by the ends of their paths, then by line.",
  ];
}

/** Which slices of one file are compared, and how. @param {import("../model/url.js").State} state
 * @param {any} answer @param {string} name of one slice */
function versusText(state, answer, name) {
  const one = (choice, counts) => [
    h("bdi", null, choiceNoun(choice, name)),
    counts ? ` (${keptText(counts)} have trees)` : "",
  ];
  return [
    "Before: ",
    one(state.against, answer?.slices_before),
    ". After: ",
    one(state.slices, answer?.slices_after),
    ". ",
    h("strong", null, `All amounts are per ${name}.`),
  ];
}

class CompareView {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.table = new Table(app, {
      caption: "Blocks, before and after",
      columns: columns(app),
      sort: "",
      search: "Name or file",
      empty: "No block is among these. All shows every block.",
    });
    this.graph = new DifferenceGraph(app);
    this.views = h("nav", {"aria-label": "Table or flame graph"});
    this.headline = h("p.headline");
    this.figures = h("dl.figures");
    this.picks = h("div");
    this.bar = h("div.over", null, this.views, this.picks, this.graph.controls);
    this.names = h("p");
    this.nothing = h("div.nothing");
    this.element = h(
      "div.page",
      null,
      h("div.title.compared", null, h("h1", {tabindex: "-1"}, "Compare"), this.names),
      this.headline,
      this.figures,
      this.nothing,
      this.bar,
      this.table.element,
      this.graph.element,
    );
  }

  query(state, more) {
    const {search, sort, state: states} = state;
    return question({...state, side: ""}, {search, sort, state: states, against: state.against, ...more});
  }

  async load(state, signal) {
    if (!shownMetric(this.app.profile, state).metric) return null;
    if (state.view !== "flame") return ask("compare", this.query(state, window(state)), signal);
    const [answer, graph] = await Promise.all([
      ask("compare", this.query(state, {limit: 1}), signal),
      this.graph.load(state, signal),
    ]);
    return {...answer, graph};
  }

  /** @param {import("../model/url.js").State} state @param {any} answer null: nothing in common */
  show(state, answer) {
    const {app} = this;
    const name = app.file.slice_name ?? "slice";
    fill(this.names, state.against ? versusText(state, answer, name) : filesText(app));
    const graph = Boolean(answer?.graph);
    this.nothing.hidden = Boolean(answer);
    for (const part of [this.headline, this.figures, this.bar]) part.hidden = !answer;
    for (const part of [this.picks, this.table.element]) part.hidden = !answer || graph;
    for (const part of [this.graph.controls, this.graph.element]) part.hidden = !graph;
    this.element.classList.toggle("wide", graph);
    if (!answer) return fill(this.nothing, nothingInCommon(app));
    fill(this.headline, headline(app, answer));
    const titles = state.against
      ? [choiceNoun(state.against, name), choiceNoun(state.slices, name)].map(capital)
      : ["Before", "After"];
    fill(this.figures, figures({...answer, name}, titles));
    fill(this.views, views(state));
    if (graph) return this.graph.show(state, answer.graph);
    fill(this.picks, picks(state, answer));
    this.table.show(state, {
      ...answer,
      filtered: hasFilters(state),
      most: {self: most(answer, "self"), overall: most(answer, "overall")},
    });
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const view = new CompareView(app);
  return {
    element: view.element,
    title: () => "Compare",
    load: (state, signal) => view.load(state, signal),
    show: (state, answer) => view.show(state, answer),
    csv: state => apiUrl("compare", view.query(state, {format: "csv"})),
    close: () => view.graph.close(),
  };
}
