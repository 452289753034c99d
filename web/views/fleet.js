// SPDX-License-Identifier: MIT
//
// Fleet: what to look at, of a store that has the profiles of many machines. The metric over time,
// stacked by a label, on which a stretch of time is chosen; then the services with their shares.
// Everything that is chosen here holds on all other pages.

import {
  canName,
  described,
  terms,
  withAge,
  withLabel,
  withTime,
  withoutAny,
  withoutLabel,
  withoutTime,
} from "../model/choice.js";
import {count, plural} from "../model/format.js";
import {hasGaps, sparkPath, stretch} from "../model/series.js";
import {changed, href, to} from "../model/url.js";
import {choiceOf, withChoice} from "../parts/choice.js";
import {ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {amountCell, amountHead, scaleOf} from "../parts/numbers.js";
import {plainTable} from "../parts/table.js";
import {TimeChart} from "../parts/timechart.js";

const AGES = ["15m", "1h", "6h", "1d", "7d"];
const STACKED = ["service", "build", "host"];
const SERVICES = 200;
const STEPS = 120,
  STEPS_LEAST = 15,
  SPARK = {steps: 48, width: 120, height: 24};
const UNITS = {s: 1, m: 60, h: 3600, d: 86400, w: 604800};

/** @typedef {import("../model/url.js").State} State */

/** The part of time that the chart shows: nothing is all of it. @param {string} span @param {number} now */
function spanOf(span, now) {
  const [, amount, unit] = /^([\d.]+)([smhdw])$/.exec(span) ?? [];
  if (unit)
    return {
      from: String(Math.round(now - Number(amount) * UNITS[unit] * 1000)),
      until: String(now),
    };
  const [, from, until] = /^(\d{1,12})-(\d{1,12})$/.exec(span) ?? [];
  return from ? {from: from + "000", until: until + "000"} : {};
}

/** The time between the first slice and the last one, so that a chart need not ask for it.
 * @param {any} [offer] */
function timeOf(offer) {
  return offer?.first ? {from: String(offer.first - 1), until: String(offer.last)} : {};
}

/** The label that tells most apart. @param {State} state @param {any[]} labels */
function stackedBy(state, labels) {
  if (state.by) return state.by === "none" ? "" : state.by;
  const several = name => labels.find(label => label.name === name && label.values > 1);
  return STACKED.find(several) ?? "";
}

/** @param {Record<string, string|number|undefined>} parameters */
function query(parameters) {
  const all = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters))
    if (value !== undefined && value !== "") all.set(key, String(value));
  return all;
}

/**
 * Bars that are shorter than the slices would stand apart: then they are made longer.
 * @param {Record<string, string>} asked @param {AbortSignal} signal
 */
async function askChart(asked, signal) {
  for (let steps = STEPS; ; steps = Math.floor(steps / 2)) {
    const chart = await ask("series", query({...asked, steps}), signal);
    if (
      steps < STEPS_LEAST * 2 ||
      !hasGaps({...chart, rows: [...chart.rows, ...(chart.other ? [chart.other] : [])]})
    )
      return chart;
  }
}

/** What to do about a store that has nothing, or nothing of the choice.
 * @param {import("../main.js").App} app @param {State} state @param {any} answer */
function emptyText(app, state, answer) {
  if (answer.everything.slices)
    return [
      h("h2", null, "Nothing fits this choice"),
      h(
        "p",
        null,
        "No slice has these labels in this time. Remove a chip at the top, or ",
        h("a", {href: href(withChoice(state, state.side, ""))}, "choose everything"),
        ".",
      ),
    ];
  return [
    h("h2", null, "The store is empty"),
    h("p", null, "Push a profile of any format, or a recording that is still running:"),
    h(
      "pre",
      null,
      h(
        "code",
        null,
        `ouro push --store ${app.profile.store.title} --service web --build 7 profile.pb.gz`,
      ),
    ),
    h("p", null, "This page shows it as soon as it is there, if it follows."),
  ];
}

class Fleet {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.heading = h("h1", {tabindex: "-1"}, "Fleet");
    this.about = h("p");
    this.chart = new TimeChart({
      label: "The metric over time. Arrows move, with Shift they choose, Enter applies.",
      say: text => app.say(text),
      choose: (since, until) => this.choose(since, until),
    });
    this.times = h("nav.times", {"aria-label": "Time"});
    this.stack = h("select", {
      id: "stack-by",
      "aria-label": "Stacked by",
      onchange: () => app.go(changed(app.state, {by: this.stack.value})),
    });
    this.caption = h("p.caption");
    this.charted = h(
      "section.charted",
      {"aria-label": "Over time"},
      h(
        "div.over",
        null,
        this.times,
        h("label.pick", null, h("span", null, "Stacked by"), this.stack),
        this.caption,
      ),
      this.chart.element,
      this.chart.legend,
    );
    this.empty = h("section.empty-store");
    this.onward = h("p.onward");
    this.services = h("section.services");
    this.input = h("input", {
      type: "text",
      id: "choice-text",
      autocomplete: "off",
      spellcheck: "false",
      autocapitalize: "off",
    });
    this.written = h(
      "form.written",
      {onsubmit: event => this.apply(event)},
      h("label", {for: "choice-text"}, "The choice as text"),
      h("div.line", null, this.input, h("button", {type: "submit"}, "Apply")),
      h(
        "p.note",
        null,
        "The same as ",
        h("code", null, "--where"),
        " takes: ",
        h("code", null, "service=web build=7,8 host!=a* since=2h until=now"),
        ". Times are in UTC.",
      ),
    );
    this.element = h(
      "div.page.fleet",
      null,
      h("div.title", null, this.heading, this.about),
      this.empty,
      this.charted,
      this.onward,
      this.services,
      this.written,
    );
  }

  /** @param {number|null} since @param {number|null} until */
  choose(since, until) {
    const {state} = this.app;
    const text = choiceOf(state, state.side);
    this.app.say(
      since === null ? "All times are chosen." : `Chosen: ${stretch(since, until)} UTC.`,
    );
    return this.app.go(withChoice(state, state.side, withTime(text, since, until)));
  }

  /** @param {Event} event */
  apply(event) {
    event.preventDefault();
    const {state} = this.app;
    this.app.go(withChoice(state, state.side, this.input.value));
  }

  /** @param {State} state @param {AbortSignal} signal */
  async load(state, signal) {
    const text = choiceOf(state, state.side);
    const labels = withoutTime(text),
      any = withoutLabel(text, "service");
    const choices = [...new Set(["", labels, text])];
    const offers = await Promise.all(choices.map(where => ask("offer", query({where}), signal)));
    const offer = where => offers[choices.indexOf(where)];
    const all = offer(labels),
      chosen = offer(text);
    const by = stackedBy(state, all.labels);
    const {metric} = state;
    const [chart, services] = await Promise.all([
      askChart({where: labels, metric, by, ...timeOf(all), ...spanOf(state.span, all.now)}, signal),
      ask(
        "series",
        query({
          where: any,
          metric,
          by: "service",
          values: SERVICES,
          steps: SPARK.steps,
          ...timeOf(offer(any)),
        }),
        signal,
      ),
    ]);
    return {
      everything: offer(""),
      all,
      chosen,
      by,
      chart,
      services,
      missing: chart.missing ?? all.missing,
    };
  }

  /** @param {State} state @param {any} answer */
  show(state, answer) {
    const {all, chosen, chart} = answer;
    this.answer = answer;
    const there = all.slices > 0;
    this.empty.hidden = there && chosen.slices > 0;
    this.charted.hidden = !there;
    this.services.hidden = this.onward.hidden = !answer.everything.slices;
    this.onward.hidden ||= !chosen.slices;
    fill(this.empty, this.empty.hidden ? [] : emptyText(this.app, state, answer));
    this.showAbout(answer);
    this.showTimes(state, answer);
    this.showStack(answer);
    if (there) this.showChart(state, answer);
    fill(this.caption, there ? `${this.chart.perBar}, times in UTC` : "");
    this.showOnward(state, answer);
    fill(this.services, this.table(state, answer));
    if (document.activeElement !== this.input) this.input.value = choiceOf(state, state.side);
    return chart;
  }

  /** @param {any} answer */
  showAbout({chosen, everything}) {
    const {slices, first, last, labels} = chosen;
    const values = name => labels.find(label => label.name === name)?.values ?? 0;
    const parts = [
      ["service", "service"],
      ["host", "host"],
      ["build", "build"],
    ]
      .map(([name, word]) => [values(name), word])
      .filter(([n]) => n)
      .map(([n, word]) => plural(n, word));
    fill(
      this.about,
      h("bdi", null, this.app.profile.store.title),
      everything.slices
        ? `: ${plural(slices, "slice")}${slices < everything.slices ? ` of ${count(everything.slices)}` : ""}`
        : "",
      slices && parts.length ? ` from ${parts.join(", ")}` : "",
      slices ? `, ${stretch(first, last)} UTC` : "",
    );
  }

  /** Ages that move on, and all of the time; and how near the chart looks.
   * @param {State} state @param {any} answer */
  showTimes(state, {chosen, chart}) {
    const text = choiceOf(state, state.side);
    const [since, until] = ["since", "until"].map(
      name => terms(text).find(term => term.name === name)?.values[0] ?? "",
    );
    const item = (words, target, on, key) =>
      h(
        "a.button.small",
        {href: href(target), "aria-current": on ? "true" : null, data: {key: "age " + key}},
        words,
      );
    const within = chosen.since !== null || chosen.until !== null;
    const from = Math.floor((chosen.since ?? chart.from) / 1000),
      end = Math.ceil((chosen.until ?? chart.from + chart.step * chart.steps) / 1000);
    const near = within && !until && AGES.includes(since) ? since : `${from}-${end}`;
    fill(
      this.times,
      item("All time", withChoice(state, state.side, withoutTime(text)), !since && !until, "all"),
      AGES.map(age =>
        item(
          "Last " + age,
          withChoice(state, state.side, withAge(text, age)),
          since === age && !until,
          age,
        ),
      ),
      state.span
        ? h(
            "a",
            {href: href(changed(state, {span: ""})), data: {key: "span"}},
            "Show all of the time",
          )
        : null,
      within && state.span !== near
        ? h(
            "a",
            {
              href: href(changed(state, {span: near})),
              data: {key: "nearer"},
              title: "The chart shows the chosen time alone, in shorter steps",
            },
            "Zoom to the choice",
          )
        : null,
    );
  }

  /** @param {any} answer */
  showStack({all, everything, by}) {
    const names = [...new Set([...everything.labels, ...all.labels].map(label => label.name))];
    if (by && !names.includes(by)) names.push(by);
    fill(
      this.stack,
      h("option", {value: "none"}, "nothing"),
      names.map(name => h("option", {value: name}, name)),
    );
    this.stack.value = by || "none";
  }

  /** @param {State} state @param {any} answer */
  showChart(state, {chart, chosen, by}) {
    const rows = chart.rows.map(row => ({
      ...row,
      name: row.value ?? (by ? `without ${by}` : chart.metric),
      plain: row.value === null,
    }));
    if (chart.other)
      rows.push({
        ...chart.other,
        name: `${plural(chart.other.values, "other value")}`,
        colour: "other",
        plain: true,
        others: true,
      });
    const {from, step, steps, metric, unit, decimals} = chart;
    const within = chosen.since !== null || chosen.until !== null;
    this.chart.show({
      series: {from, step, steps, rows},
      metric: metric ?? "",
      unit,
      decimals,
      chosen: within ? {since: chosen.since, until: chosen.until} : null,
    });
    this.chart.legend.hidden = !by;
    const text = choiceOf(state, state.side);
    this.chart.showLegend(row => {
      if (row.others || !by || !canName(by)) return null;
      return href(
        withChoice(
          state,
          state.side,
          row.value === null ? withoutAny(text, by) : withLabel(text, by, [row.value]),
        ),
      );
    });
  }

  /** Where the choice can be looked into. @param {State} state @param {any} answer */
  showOnward(state) {
    const pages = state.with
      ? [
          ["compare", "Compare the two"],
          ["flame", "Flame graph"],
        ]
      : [
          ["flame", "Flame graph"],
          ["overview", "Overview"],
          ["self", "Self"],
        ];
    fill(
      this.onward,
      h("span", null, "Look into "),
      h("bdi", null, state.with ? "both choices" : described(state.where)),
      pages.map(([page, words], i) =>
        h(
          i ? "a.button" : "a.button.primary",
          {href: href(to(state, page)), data: {key: "onward " + page}},
          words,
        ),
      ),
    );
  }

  /** @param {State} state @param {any} answer */
  table(state, {services, by}) {
    const text = choiceOf(state, state.side);
    const chosen = terms(text).find(term => term.name === "service");
    const total = services.rows.reduce((sum, row) => sum + row.total, services.other?.total ?? 0);
    const answer = {...services, total, left: total};
    const scale = scaleOf(answer);
    const rows = services.rows.map(row => {
      const one =
        row.value === null ? withoutAny(text, "service") : withLabel(text, "service", [row.value]);
      const only =
        chosen && !chosen.without && chosen.values.length === 1 && chosen.values[0] === row.value;
      const target = withChoice(state, state.side, one);
      return [
        amountCell(row.total, answer, scale, "self"),
        h(
          "th.name",
          {scope: "row"},
          h(
            "a",
            {
              href: href(target),
              "aria-current": only ? "true" : null,
              data: {key: "service " + row.value},
            },
            row.value === null ? h("em", null, "without service") : h("bdi", null, row.value),
          ),
        ),
        h("td.spark", null, this.spark(row)),
        h(
          "td.leads",
          null,
          h(
            "a",
            {
              href: href(to(target, "flame")),
              data: {key: "flame " + row.value},
              "aria-label": `Flame graph of ${row.value ?? "slices without service"}`,
            },
            "Flame graph",
          ),
        ),
      ];
    });
    return [
      plainTable(
        ["Services ", h("span.aside-title", null, "their shares of what is chosen")],
        [
          {title: services.metric ?? "Amount", kind: "num", below: amountHead(scale)},
          {title: "Service", kind: "name"},
          {title: "Over time", kind: "spark"},
          {title: "Look into", kind: "leads"},
        ],
        rows,
        "Nothing is chosen.",
      ),
      services.other
        ? h("p.foot", null, `${plural(services.other.values, "smaller service")} more`)
        : null,
    ];
  }

  /** @param {any} row */
  spark(row) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", `0 0 ${SPARK.width} ${SPARK.height}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", "sparkline");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", sparkPath(row.sums, SPARK.width, SPARK.height));
    svg.append(path);
    return svg;
  }

  close() {
    this.chart.close();
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const view = new Fleet(app);
  return {
    element: view.element,
    title: () => "Fleet",
    load: (state, signal) => view.load(state, signal),
    show: (state, answer) => {
      view.show(state, answer);
    },
    close: () => view.close(),
  };
}
