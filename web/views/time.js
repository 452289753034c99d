// SPDX-License-Identifier: MIT
//
// Time: the slices of a recording as a heat map of their durations over time, and what a live file
// got while the viewer looks at it, as a chart. Both are there to choose from: what is chosen stands
// at the top as a chip, and every other page shows just that.

import {amount, count, plural} from "../model/format.js";
import {RUN} from "../model/series.js";
import {choiceNoun, durationText, keptText, namesOf, regionChoice, timeline} from "../model/slices.js";
import {href, question, to, atTime} from "../model/url.js";
import {ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {HeatMap} from "../parts/heatmap.js";
import {plainTable} from "../parts/table.js";
import {TimeChart} from "../parts/timechart.js";

/** @typedef {import("../model/url.js").State} State */

const STEPS = 120; // bars of the chart
const LISTED = 10; // slices in the table
const LASTS = [
  ["10", "Last 10 s"],
  ["60", "Last minute"],
  ["600", "Last 10 minutes"],
];
const PAGES = [
  ["flame", "Flame graph"],
  ["self", "Self"],
  ["overview", "Overview"],
];
const WHY = {slowest: "slowest", last: "last", evenly: "by chance"};

/** A link that chooses, pressed if it is chosen. @param {string} text @param {State} target @param {boolean} on
 * @param {string} key @param {string} [title] */
function pick(text, target, on, key, title) {
  return h(
    "a.button.small",
    {href: href(target), "aria-current": on ? "true" : null, data: {key: "time " + key}, title: title ?? null},
    text,
  );
}

/** Where the choice can be looked into. @param {State} state @param {string} what */
function onward(state, what) {
  return h(
    "p.onward",
    null,
    h("span", null, "Look into "),
    h("bdi", null, what),
    PAGES.map(([page, words], i) =>
      h(
        i ? "a.button" : "a.button.primary",
        {href: href(to(state, page)), data: {key: "onward " + page}},
        words,
      ),
    ),
  );
}

/** @param {string} title @param {string} value @param {string} more */
function figure(title, value, more) {
  return h(
    "div.figure",
    null,
    h("dt", null, title),
    h("dd", null, h("span.value", null, value), h("span.part", null, more)),
  );
}

// ---------------------------------------------------------------- slices

class Slices {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.map = new HeatMap({
      label:
        "Heat map of durations over time. Arrows move, with Shift they choose, Enter applies, " +
        "Escape chooses everything.",
      say: text => app.say(text),
      choose: region => this.choose(region),
    });
    this.figures = h("dl.figures");
    this.picks = h("nav.times", {"aria-label": "Which slices"});
    this.caption = h("p.caption");
    this.chosen = h("div.chosen-slices", {"aria-live": "polite"});
    this.list = h("div.kept");
    this.element = h(
      "section.charted.slices",
      {"aria-label": "Slices"},
      this.figures,
      h("div.over", null, this.picks, this.caption),
      this.map.element,
      this.chosen,
      this.list,
    );
  }

  /** @param {import("../model/slices.js").Region|null} region */
  choose(region) {
    const {app} = this;
    const slices = region ? regionChoice(region) : "";
    const noun = choiceNoun(slices, this.answer.name);
    app.say(slices ? `Chosen: ${noun}.` : `All ${namesOf(this.answer.name)} are chosen.`);
    return app.go(atTime(app.state, {slices}));
  }

  /** A weight, which is a duration or a value of a metric. @param {number} value */
  weight(value) {
    const {by, unit} = this.answer;
    return by === "duration" ? durationText(value) : amount(value, unit, 0);
  }

  /** @param {State} state @param {any} answer */
  show(state, answer) {
    this.answer = answer;
    const {name, by, heat, kept} = answer;
    const timed = by === "duration";
    const parts = [
      ["median", "Median"],
      ["p90", "90%"],
      ["p99", "99%"],
      ["slowest", "Slowest"],
    ];
    fill(
      this.figures,
      figure(
        namesOf(name)[0].toUpperCase() + namesOf(name).slice(1),
        count(answer.count),
        answer.open ? `and ${count(answer.open)} open` : answer.lanes > 1 ? `of ${answer.lanes} threads` : `by ${by}`,
      ),
      parts.map(([key, title]) =>
        figure(title, this.weight(answer[key]), answer.exact || key === "slowest" ? (timed ? "" : by) : "within 1%"),
      ),
    );
    this.showPicks(state);
    fill(this.caption, `Darker: more ${namesOf(name)}. A dot: its tree was kept`);
    const lines = timed
      ? parts.slice(0, 3).map(([key, title]) => ({
          duration: answer[key],
          text: `${title.toLowerCase()} ${durationText(answer[key])}`,
        }))
      : [];
    this.map.element.hidden = !heat.columns;
    this.map.showSlices({heat, kept, name, lines, chosen: answer.chosen});
    this.showChosen(state);
    fill(this.list, this.table(state));
  }

  /** @param {State} state */
  showPicks(state) {
    const {choices, name} = this.answer;
    const one = (text, slices) =>
      pick(
        slices ? `${text} · ${count(choices[slices].count)}` : text,
        atTime(state, {slices}),
        state.slices === slices && !state.during && !state.last,
        slices || "all",
        slices ? `${keptText(choices[slices])} have trees` : undefined,
      );
    const versus = to(atTime(state, {slices: "slowest", against: "typical"}), "compare");
    fill(
      this.picks,
      one(`All ${namesOf(name)}`, ""),
      one("Slowest 1%", "slowest"),
      one("Typical", "typical"),
      one("Last 10 s", "last"),
      // Two files are compared with each other.
      this.app.profile.compare
        ? null
        : h(
            "a.button.small.versus",
            {
              href: href(versus),
              data: {key: "time versus"},
              title: `What the slowest 1% do that typical ${namesOf(name)} do not, per ${name}`,
            },
            "Slow against typical",
          ),
    );
  }

  /** What is chosen, how much of it can be seen, and where. @param {State} state */
  showChosen(state) {
    const {chosen, name} = this.answer;
    if (!state.slices || !chosen)
      return fill(
        this.chosen,
        h("p.note", null, `Drag over the map to choose ${namesOf(name)}: sideways a time, along the bars a duration.`),
      );
    const kept = keptText(chosen);
    fill(
      this.chosen,
      onward(state, choiceNoun(state.slices, name)),
      chosen.kept
        ? h(
            chosen.kept < chosen.count ? "p.note.few" : "p.note",
            null,
            chosen.kept < chosen.count
              ? `${kept} ${namesOf(name)} have trees; the pages show these. Of the others only times are known.`
              : `${kept[0].toUpperCase() + kept.slice(1)} have trees.`,
          )
        : h(
            "p.note.few",
            null,
            chosen.count
              ? `None of these ${plural(chosen.count, name, namesOf(name))} has a tree: only their times ` +
                  "are known. Choose a region with a dot."
              : `There is no ${name} here.`,
          ),
    );
  }

  /** The slowest of those that can be looked into. @param {State} state */
  table(state) {
    const {kept, name, by, unit} = this.answer;
    const rows = [...kept].sort((a, b) => b.weight - a.weight).slice(0, LISTED);
    const timed = by === "duration";
    return plainTable(
      [`Slowest ${namesOf(name)} `, h("span.aside-title", null, `of ${count(kept.length)} that have trees`)],
      [
        {title: "Took", kind: "num"},
        ...(timed ? [] : [{title: by, kind: "num"}]),
        {title: "Began", kind: "num"},
        {title: name[0].toUpperCase() + name.slice(1), kind: "name"},
        {title: "Kept as", kind: "why.extra"},
        {title: "Look into", kind: "leads"},
      ],
      rows.map(({slice, start, duration, weight, why}) => {
        const target = atTime(state, {slices: slice});
        return [
          h("td.num", null, h("span.value", null, durationText(duration))),
          timed ? null : h("td.num", null, h("span.value", null, amount(weight, unit, 0))),
          h("td.num", null, h("span.value", null, RUN.length(start / 1e6))),
          h(
            "th.name",
            {scope: "row"},
            h(
              "a",
              {
                href: href(target),
                "aria-current": state.slices === slice ? "true" : null,
                data: {key: "slice " + slice},
              },
              choiceNoun(slice, name),
            ),
          ),
          h("td.why.extra", null, why.map(one => WHY[one] ?? one).join(", ")),
          h(
            "td.leads",
            null,
            h(
              "a",
              {
                href: href(to(target, "flame")),
                data: {key: "flame " + slice},
                "aria-label": `Flame graph of ${choiceNoun(slice, name)}`,
              },
              "Flame graph",
            ),
          ),
        ].filter(Boolean);
      }),
      "No tree was kept.",
    );
  }

  close() {
    this.map.close();
  }
}

// ---------------------------------------------------------------- what was watched

class Watched {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.chart = new TimeChart({
      label: "The metric since the viewer looks at the file. Arrows move, with Shift they choose, Enter applies.",
      say: text => app.say(text),
      clock: RUN,
      choose: (since, until) => this.choose(since, until),
    });
    this.picks = h("nav.times", {"aria-label": "Which time"});
    this.caption = h("p.caption");
    this.note = h("div.chosen-time", {"aria-live": "polite"});
    this.element = h(
      "section.charted.watched",
      {"aria-label": "While it is watched"},
      h("h2", null, "While it is watched"),
      h("div.over", null, this.picks, this.caption),
      this.chart.element,
      this.note,
    );
  }

  /** @param {number|null} since @param {number|null} until milliseconds */
  choose(since, until) {
    const {app} = this;
    const text = time => String(Math.max(0, Number((time / 1000).toFixed(3))));
    const during = since === null ? "" : `${text(since)}-${text(until)}`;
    app.say(since === null ? "All of the time is chosen." : `Chosen: ${RUN.stretch(since, until)}.`);
    return app.go(atTime(app.state, {during}));
  }

  /** @param {State} state @param {any} grown */
  show(state, grown) {
    const name = state.metric || this.app.file.default_metric;
    const at = Math.max(0, grown.metrics.findIndex(metric => metric.name === name));
    const metric = grown.metrics[at];
    const {from, step, steps, sums} = timeline(grown, at, STEPS);
    const [since, until] = state.during.split("-").map(part => (part ? Number(part) * 1000 : null));
    const chosen = state.during
      ? {since, until: until ?? null}
      : state.last
        ? {since: (grown.now - Number(state.last)) * 1000, until: null}
        : null;
    fill(
      this.picks,
      pick("All of it", atTime(state, {}), !state.during && !state.last && !state.slices, "always"),
      LASTS.map(([last, text]) => pick(text, atTime(state, {last}), state.last === last, "last " + last)),
    );
    const {metric: shown} = {metric: metric.name};
    this.chart.show({
      series: {from, step, steps, rows: [{name: shown, sums, total: sums.reduce((a, b) => a + b, 0)}]},
      metric: shown,
      unit: metric.unit,
      decimals: metric.decimals,
      chosen,
    });
    fill(this.caption, `${this.chart.perBar}, since the viewer opened the file`);
    fill(this.note, state.during || state.last ? onward(state, this.words(state)) : this.hint(grown));
  }

  /** @param {State} state */
  words(state) {
    if (state.last) return `the last ${RUN.length(Number(state.last) * 1000)}`;
    const [from, until] = state.during.split("-").map(Number);
    return until ? RUN.stretch(from * 1000, until * 1000) : `since ${RUN.length(from * 1000)}`;
  }

  /** @param {any} grown */
  hint(grown) {
    return h(
      "p.note",
      null,
      grown.slices.length
        ? "Drag over the chart to choose a time: all pages then show what happened in it."
        : "Nothing happened since the viewer opened the file.",
    );
  }

  close() {
    this.chart.close();
  }
}

// ---------------------------------------------------------------- the page

const NOTHING = [
  h("h2", null, "This recording has no slices"),
  h(
    "p",
    null,
    "A program says where its frames, requests or turns begin: ",
    h("code", null, "ouro_slice(thread)"),
    ". Then this page shows how long each took, and the others what the slow ones did. A live file has a ",
    "timeline here without that, while it is watched.",
  ),
];

class Time {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.slices = new Slices(app);
    this.watched = new Watched(app);
    this.about = h("p");
    this.nothing = h("section.empty-store", null, NOTHING.map(part => part.cloneNode(true)));
    this.element = h(
      "div.page.time",
      null,
      h("div.title", null, h("h1", {tabindex: "-1"}, "Time"), this.about),
      this.nothing,
      this.slices.element,
      this.watched.element,
    );
  }

  /** @param {State} state @param {AbortSignal} signal */
  async load(state, signal) {
    const {file} = this.app;
    const query = question({...state, last: "", during: "", metric: ""}, {against: state.against});
    const grown = new URLSearchParams({seconds: "1000000", steps: "240"});
    if (state.side) grown.set("side", state.side);
    const [slices, watched, total] = await Promise.all([
      file.slices ? ask("slices", query, signal) : null,
      file.live ? ask("history", grown, signal) : null,
      ask("blocks", question(state, {limit: 1}), signal),
    ]);
    return {...total, of_slices: slices, watched};
  }

  /** @param {State} state @param {any} answer */
  show(state, answer) {
    const {of_slices: slices, watched} = answer;
    this.nothing.hidden = Boolean(slices || watched);
    this.slices.element.hidden = !slices;
    this.watched.element.hidden = !watched;
    fill(this.about, h("bdi", null, this.app.file.title));
    if (slices) this.slices.show(state, slices);
    if (watched) this.watched.show(state, watched);
  }

  close() {
    this.slices.close();
    this.watched.close();
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const view = new Time(app);
  return {
    element: view.element,
    title: () => "Time",
    load: (state, signal) => view.load(state, signal),
    show: (state, answer) => view.show(state, answer),
    close: () => view.close(),
  };
}
