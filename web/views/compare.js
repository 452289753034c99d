// SPDX-License-Identifier: MIT
//
// Compare: two profiles, block by block. Orange is more than before, blue is less; a sign and a
// word say the same, for readers who do not see the colours.

import {
  amount,
  count,
  exact,
  growth,
  number,
  percent,
  scaleFor,
  share,
  signed,
} from "../model/format.js";
import {window} from "../model/table.js";
import {changed, href, question, to} from "../model/url.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {blockLink} from "../parts/block.js";
import {Table} from "../parts/table.js";

const STATES = {slower: "▲ more", faster: "▼ less", new: "+ new", gone: "− gone", same: "= same"};

/** @param {any} answer */
function scaleOf(answer) {
  return scaleFor(
    answer.unit,
    answer.decimals,
    Math.max(Math.abs(answer.total_before), Math.abs(answer.total_after)),
  );
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
    h("span.value", null, signed(by, scaleOf(answer))),
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
    h("span.value", null, number(value, scaleOf(answer))),
    h("span.part", null, percent(value, answer["total_" + side])),
    h("span.part.of-left", null, percent(value, answer["left_" + side])),
  );
}

/** @param {import("../main.js").App} app @param {any} row @param {any} answer */
function nameCell(app, row, answer) {
  // A block that is gone can only be shown in the profile before.
  const side = row.state === "gone" ? "" : "after";
  const found = row.block === null || row.block === undefined ? null : answer.blocks[row.block];
  const block = found ?? {
    label: row.name,
    name: row.name,
    file: row.file,
    line: 0,
    column: 0,
    mark: null,
  };
  return h(
    "th.name",
    {scope: "row"},
    blockLink(app, block, {
      key: "c" + (row.file ?? ""),
      href:
        block.label === null
          ? undefined
          : href({...to(app.state, "block", {block: [block.label]}), side}),
    }),
    row.file && !found?.file ? h("bdi.where", null, row.file) : null,
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
        h("span.value", null, scaleOf(answer).unit),
        texts.map(text => h("span.part", null, text)),
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
      below: units("of all", "of left"),
      cell: (row, answer) => sideCell(row.self_before, answer, "before"),
    },
    {
      title: "Self after",
      sort: "self_after",
      kind: "num",
      below: units("of all", "of left"),
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
      kind: "state",
      cell: row => h("td.state." + row.state, null, STATES[row.state] ?? row.state),
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

/** @param {any} answer */
function summary(answer) {
  const by = answer.total_after - answer.total_before;
  const figure = (title, value, more, kind) =>
    h(
      "div.figure" + (kind ?? ""),
      null,
      h("dt", null, title),
      h(
        "dd",
        null,
        h("span.value", {title: exact(value, answer.unit, answer.decimals)}, more[0]),
        h("span.part", null, more[1]),
      ),
    );
  const text = amount(Math.abs(by), answer.unit, answer.decimals);
  return [
    figure("Before", answer.total_before, [
      amount(answer.total_before, answer.unit, answer.decimals),
      answer.metric,
    ]),
    figure("After", answer.total_after, [
      amount(answer.total_after, answer.unit, answer.decimals),
      answer.metric,
    ]),
    figure(
      "Change",
      by,
      [(by > 0 ? "+" : by < 0 ? "−" : "") + text, growth(answer.total_before, answer.total_after)],
      by > 0 ? ".worse" : by < 0 ? ".better" : "",
    ),
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

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const table = new Table(app, {
    caption: "Blocks, before and after",
    columns: columns(app),
    sort: "",
    search: "Name or file",
  });
  const figures = h("dl.figures"),
    choice = h("div");
  const names = h("p");
  const query = (state, more) =>
    question(
      {...state, side: ""},
      {search: state.search, sort: state.sort, state: state.state, ...more},
    );
  return {
    element: h(
      "div.page",
      null,
      h("div.title", null, h("h1", {tabindex: "-1"}, "Compare"), names),
      figures,
      choice,
      table.element,
    ),
    title: () => "Compare",
    load: (state, signal) => ask("compare", query(state, window(state)), signal),
    show(state, answer) {
      const [before, after] = app.profile.files;
      fill(
        names,
        h("bdi", null, before.path),
        " → ",
        h("bdi", null, after?.path ?? ""),
        ". Blocks are the same if their names are.",
      );
      fill(figures, summary(answer));
      fill(choice, picks(state, answer));
      table.show(state, {
        ...answer,
        most: {self: most(answer, "self"), overall: most(answer, "overall")},
      });
    },
    csv: state => apiUrl("compare", query(state, {format: "csv"})),
  };
}
