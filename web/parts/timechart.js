// SPDX-License-Identifier: MIT
//
// A metric over time as stacked bars, with a legend. A stretch of time is chosen by dragging, or
// with the keys: arrows move a mark, with Shift they choose from it on, Enter applies, Escape takes
// the choice back. The exact numbers of a step are beside the pointer, and read out for the mark.
//
// Knows nothing of stores: it is shown rows of sums, and tells what was chosen. A clock says how times
// are written. The heat map of slices (heatmap.js) is the same chart with another picture.

import {amount, exact, percent} from "../model/format.js";
import {UTC, amountTicks, barPaths, heights} from "../model/series.js";
import {fill, h} from "./dom.js";
import {Tooltip} from "./tooltip.js";

export const HEIGHT = 240;
export const LEFT = 64,
  BOTTOM = 22,
  TOP = 8;
export const DRAG = 4; // pixels that a pointer moves before it drags

/** @param {string} name @param {Record<string, any>} attributes @param {...Node|string} children */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/**
 * @typedef {object} Shown
 * @property {import("../model/series.js").Series} series rows also have a `total`
 * @property {string} metric
 * @property {string} unit
 * @property {number} decimals
 * @property {{since: number|null, until: number|null}|null} chosen
 */

export class TimeChart {
  /**
   * @param {{label: string, say: (text: string) => void, clock?: typeof UTC,
   *   choose: (since: number|null, until: number|null) => void}} options null: everything
   */
  constructor(options) {
    this.options = options;
    this.clock = options.clock ?? UTC;
    this.right = 0; // pixels beside the chart
    this.tooltip = new Tooltip();
    /** @type {Shown|null} */ this.shown = null;
    this.mark = -1; // the step that the keys are at
    this.anchor = -1; // where a choice by keys began
    /** @type {{from: number, to: number, moved: boolean}|null} */ this.drag = null;
    this.picture = svg("svg", {"aria-hidden": "true", class: "timechart-picture"});
    this.element = h("div.timechart", {
      tabindex: "0",
      role: "application",
      "aria-roledescription": "chart over time",
      "aria-label": options.label,
    });
    this.element.append(this.picture);
    this.legend = h("ul.legend", {"aria-label": "What the colours mean"});
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.element);
    this.listen();
  }

  listen() {
    const {element} = this;
    element.addEventListener("pointerdown", event => this.press(event));
    element.addEventListener("pointermove", event => this.move(event));
    element.addEventListener("pointerup", event => this.release(event));
    element.addEventListener("pointercancel", () => this.stopDrag());
    element.addEventListener("pointerleave", () => this.tooltip.hide());
    element.addEventListener("keydown", event => this.key(event));
    element.addEventListener("blur", () => {
      this.anchor = -1;
      this.drawMarks();
    });
  }

  close() {
    this.resized.disconnect();
    this.tooltip.close();
  }

  // ---------------------------------------------------------------- places

  get width() {
    return Math.max(40, this.element.clientWidth - LEFT - this.right);
  }

  get steps() {
    return this.shown?.series.steps ?? 0;
  }

  /** @param {number} step its beginning @returns {number} milliseconds since 1970 */
  timeOf(step) {
    return this.shown.series.from + step * this.shown.series.step;
  }

  /** @param {number} time */
  xOf(time) {
    const {from, step, steps} = this.shown.series;
    const share = (time - from) / (step * steps);
    return LEFT + Math.min(1, Math.max(0, share)) * this.width;
  }

  /** The step under a pointer. @param {PointerEvent} event */
  stepAt(event) {
    const x = event.clientX - this.element.getBoundingClientRect().left - LEFT;
    return Math.min(this.steps - 1, Math.max(0, Math.floor((x / this.width) * this.steps)));
  }

  // ---------------------------------------------------------------- choosing

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button || !this.steps) return;
    const step = this.stepAt(event);
    this.drag = {from: step, to: step, moved: false};
    this.pressed = event.clientX;
    this.element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.steps) return;
    const step = this.stepAt(event);
    if (this.drag) {
      this.drag.moved ||= Math.abs(event.clientX - this.pressed) > DRAG;
      this.drag.to = step;
      this.drawMarks();
    }
    this.tooltip.show(
      {name: this.timesOf(step), where: "", recursion: ""},
      {x: event.clientX, y: event.clientY},
      this.lines(step),
    );
  }

  /** @param {PointerEvent} event */
  release(event) {
    if (!this.drag) return;
    this.drag.to = this.stepAt(event);
    const {from, to} = this.drag;
    this.stopDrag();
    this.apply(from, to);
  }

  stopDrag() {
    this.drag = null;
    this.drawMarks();
  }

  /** @param {number} from @param {number} to steps, in any order */
  apply(from, to) {
    this.anchor = -1;
    this.options.choose(this.timeOf(Math.min(from, to)), this.timeOf(Math.max(from, to) + 1));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9}[
      event.key
    ];
    if (event.ctrlKey || event.metaKey || event.altKey || !this.steps) return;
    if (by) this.moveMark(by, event.shiftKey);
    else if (event.key === "Enter" && this.mark >= 0)
      this.apply(this.anchor >= 0 ? this.anchor : this.mark, this.mark);
    else if (event.key === "Escape" && (this.anchor >= 0 || this.shown.chosen)) this.takeBack();
    else return;
    event.preventDefault();
  }

  /** @param {number} by @param {boolean} choosing */
  moveMark(by, choosing) {
    const last = this.steps - 1;
    if (choosing && this.anchor < 0) this.anchor = this.mark < 0 ? last : this.mark;
    if (!choosing) this.anchor = -1;
    this.mark = this.mark < 0 ? last : Math.min(last, Math.max(0, this.mark + by));
    this.drawMarks();
    const chosen =
      this.anchor >= 0 ? `Chosen, Enter applies: ${this.timesOf(this.anchor, this.mark)}. ` : "";
    this.options.say(`${chosen}${this.timesOf(this.mark)}. ${this.spoken(this.mark)}`);
  }

  takeBack() {
    const was = this.anchor >= 0;
    this.anchor = -1;
    this.drawMarks();
    if (!was) this.options.choose(null, null);
  }

  // ---------------------------------------------------------------- words

  /** @param {number} a @param {number} [b] steps */
  timesOf(a, b = a) {
    return this.clock.stretch(this.timeOf(Math.min(a, b)), this.timeOf(Math.max(a, b) + 1));
  }

  /** The rows that have something in a step, the largest first. @param {number} step */
  parts(step) {
    return this.shown.series.rows
      .map((row, i) => ({name: row.name, colour: row.colour ?? i, sum: row.sums[step]}))
      .filter(({sum}) => sum)
      .sort((a, b) => b.sum - a.sum);
  }

  /** @param {number} step */
  spoken(step) {
    const {unit, decimals, metric} = this.shown;
    const parts = this.parts(step);
    const all = parts.reduce((sum, part) => sum + part.sum, 0);
    const each = parts.slice(0, 5).map(({name, sum}) => `${name} ${exact(sum, unit, decimals)}`);
    return `${metric} ${exact(all, unit, decimals)}${parts.length > 1 ? ": " + each.join(", ") : ""}`;
  }

  /** @param {number} step */
  lines(step) {
    const {unit, decimals} = this.shown;
    const parts = this.parts(step);
    const all = parts.reduce((sum, part) => sum + part.sum, 0);
    return h(
      "dl.sums",
      null,
      h("dt", null, "all"),
      h("dd", null, exact(all, unit, decimals)),
      parts
        .slice(0, 13)
        .map(({name, colour, sum}) => [
          h("dt", null, h("span.swatch", {data: {colour}}), h("bdi", null, name)),
          h("dd", null, `${exact(sum, unit, decimals)} (${percent(sum, all)})`),
        ]),
    );
  }

  // ---------------------------------------------------------------- drawing

  /** @param {Shown} shown */
  show(shown) {
    const moved =
      this.shown &&
      (this.shown.series.from !== shown.series.from ||
        this.shown.series.step !== shown.series.step);
    this.shown = shown;
    if (moved || this.mark >= shown.series.steps) this.mark = this.anchor = -1;
    this.draw();
  }

  draw() {
    if (!this.shown || !this.element.clientWidth) return;
    const {series, unit, decimals} = this.shown;
    const {width} = this;
    const ticks = amountTicks(Math.max(...heights(series)));
    const most = ticks.at(-1);
    this.sizePicture();
    const lines = ticks.map(tick => {
      const y = TOP + HEIGHT - (most ? tick / most : 0) * HEIGHT;
      return svg(
        "g",
        {},
        svg("line", {class: "grid", x1: LEFT, x2: LEFT + width, y1: y, y2: y}),
        svg(
          "text",
          {x: LEFT - 8, y: y + 4, "text-anchor": "end"},
          tick ? amount(tick, unit, decimals) : "0",
        ),
      );
    });
    const bars = barPaths(series, {width, height: HEIGHT, most}).map((d, i) =>
      svg("path", {d, class: "bars", "data-colour": series.rows[i].colour ?? i, "data-row": i}),
    );
    this.marks = svg("g", {});
    this.picture.replaceChildren(
      ...lines,
      svg("g", {transform: `translate(${LEFT} ${TOP})`}, ...bars),
      ...this.timeAxis(),
      this.marks,
    );
    this.drawMarks();
  }

  sizePicture() {
    const width = LEFT + this.width + this.right,
      height = TOP + HEIGHT + BOTTOM;
    for (const [key, value] of Object.entries({width, height, viewBox: `0 0 ${width} ${height}`}))
      this.picture.setAttribute(key, String(value));
  }

  timeAxis() {
    const {width} = this;
    const {from, step, steps} = this.shown.series;
    const most = Math.max(2, Math.floor(width / this.clock.room));
    return this.clock.ticks(from, from + step * steps, most).map(({time, text}) => {
      const x = this.xOf(time);
      const edge = x > LEFT + width - 30 ? "end" : x < LEFT + 30 ? "start" : "middle";
      return svg(
        "g",
        {},
        svg("line", {class: "tick", x1: x, x2: x, y1: TOP + HEIGHT, y2: TOP + HEIGHT + 4}),
        svg("text", {x, y: TOP + HEIGHT + 17, "text-anchor": edge}, text),
      );
    });
  }

  /** The choice, a drag, and the mark of the keys. */
  drawMarks() {
    if (!this.shown || !this.marks) return;
    const {chosen, series} = this.shown;
    const parts = [];
    const shade = (from, to, kind) => {
      const x = this.xOf(from),
        wide = Math.max(1, this.xOf(to) - x);
      parts.push(svg("rect", {class: kind, x, y: TOP, width: wide, height: HEIGHT}));
    };
    const end = series.from + series.step * series.steps;
    const steps =
      this.drag ?? (this.anchor >= 0 ? {from: this.anchor, to: this.mark, moved: true} : null);
    if (steps?.moved) {
      shade(
        this.timeOf(Math.min(steps.from, steps.to)),
        this.timeOf(Math.max(steps.from, steps.to) + 1),
        "choosing",
      );
    } else if (chosen) {
      const since = chosen.since ?? series.from,
        until = chosen.until ?? end;
      if (since > series.from) shade(series.from, since, "outside");
      if (until < end) shade(until, end, "outside");
      for (const time of [since, until])
        if (time > series.from && time < end)
          parts.push(
            svg("line", {
              class: "edge",
              x1: this.xOf(time),
              x2: this.xOf(time),
              y1: TOP,
              y2: TOP + HEIGHT,
            }),
          );
    }
    if (this.mark >= 0 && document.activeElement === this.element)
      shade(this.timeOf(this.mark), this.timeOf(this.mark + 1), "cursor");
    this.marks.replaceChildren(...parts);
  }

  /** Brings one row out. @param {number} row -1: none */
  bringOut(row) {
    for (const path of this.picture.querySelectorAll("path.bars"))
      path.classList.toggle("dim", row >= 0 && Number(path.getAttribute("data-row")) !== row);
  }

  /**
   * One item per row, with its amount and share; a link leads to the row alone.
   * @param {(row: any) => string|null} hrefOf
   */
  showLegend(hrefOf) {
    const {series, unit, decimals} = this.shown;
    const all = series.rows.reduce((sum, row) => sum + row.total, 0);
    fill(
      this.legend,
      series.rows.map((row, i) => {
        const to = hrefOf(row);
        const inside = [
          h("span.swatch", {data: {colour: row.colour ?? i}}),
          h(row.plain ? "span" : "bdi", null, row.name),
          h("span.part", null, `${amount(row.total, unit, decimals)}, ${percent(row.total, all)}`),
        ];
        return h(
          "li",
          {onpointerenter: () => this.bringOut(i), onpointerleave: () => this.bringOut(-1)},
          to
            ? h(
                "a",
                {
                  href: to,
                  data: {key: "legend " + row.name},
                  title: `Only ${row.name}`,
                  onfocus: () => this.bringOut(i),
                  onblur: () => this.bringOut(-1),
                },
                inside,
              )
            : h("span.plain", null, inside),
        );
      }),
    );
  }

  /** What a bar is, for a caption. */
  get perBar() {
    return this.shown ? `${this.shown.metric} per ${this.clock.length(this.shown.series.step)}` : "";
  }
}
