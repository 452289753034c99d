// SPDX-License-Identifier: MIT
//
// The heat map of slices: when they began, how long they took, the darker the more. Beside it the
// distribution of durations, in the same rows. Dots are slices whose trees were kept. A region is
// chosen by dragging, or with the keys as in the chart over time, with the arrows up and down too.
// Dragging sideways chooses a time; dragging along the distribution chooses durations.

import {count} from "../model/format.js";
import {RUN, runText} from "../model/series.js";
import {durationText, durationTicks, levelOf, rowPlace} from "../model/slices.js";
import {h} from "./dom.js";
import {DRAG, HEIGHT, LEFT, TOP, TimeChart, svg} from "./timechart.js";

const BESIDE = 200,
  BESIDE_NARROW = 76,
  LABELS = 100, // of BESIDE, for the names of percentiles
  GAP = 12,
  NARROW = 560;
const FLAT = 12; // pixels: a drag that is less high than this chooses all durations
const LABEL = 13; // pixels between two lines of text

/** @param {number} x @param {number} y @param {number} wide @param {number} high @returns {string} of SVG */
function boxPath(x, y, wide, high) {
  const [left, top, right, down] = [x, y, wide, high].map(n => n.toFixed(2));
  return `M${left} ${top}h${right}v${down}h-${right}z`;
}

/** @typedef {{column: number, row: number}} Place */
/** @typedef {import("../model/slices.js").Region} Region */

/**
 * @typedef {object} Slices
 * @property {any} heat of the API's /slices
 * @property {any[]} kept
 * @property {string} name of one slice
 * @property {{duration: number, text: string}[]} lines percentiles
 * @property {Region|null} chosen
 */

export class HeatMap extends TimeChart {
  /**
   * @param {{label: string, say: (text: string) => void, choose: (region: Region|null) => void}} options
   *   null: everything
   */
  constructor(options) {
    super({...options, clock: RUN, choose: () => options.choose(null)});
    this.chooseRegion = options.choose;
    this.element.classList.add("heatmap");
    this.element.setAttribute("aria-roledescription", "heat map");
    this.row = 0; // of the mark
    this.anchorRow = -1;
    /** @type {{from: Place, to: Place, beside: boolean, moved: boolean, flat: boolean, y: number}|null} */
    this.pull = null;
  }

  // ---------------------------------------------------------------- places

  get rows() {
    return Math.max(1, this.slices?.heat.sums.length ?? 0);
  }

  /** @param {number} place of rowPlace */
  yOf(place) {
    return TOP + HEIGHT - (place / this.rows) * HEIGHT;
  }

  /** @param {PointerEvent} event @returns {Place & {beside: boolean}} */
  placeAt(event) {
    const box = this.element.getBoundingClientRect();
    const up = (TOP + HEIGHT - (event.clientY - box.top)) / HEIGHT;
    const row = Math.min(this.rows - 1, Math.max(0, Math.floor(up * this.rows)));
    return {column: this.stepAt(event), row, beside: event.clientX - box.left > LEFT + this.width};
  }

  /** @param {Place} a @param {Place} b @param {{times?: boolean, durations?: boolean}} [all] @returns {Region} */
  regionOf(a, b, all = {}) {
    const {least} = this.slices.heat;
    const first = Math.min(a.column, b.column),
      last = Math.max(a.column, b.column),
      low = Math.min(a.row, b.row),
      high = Math.max(a.row, b.row);
    const time = step => Math.round(this.timeOf(step) * 1e6);
    return {
      from: all.times || !first ? null : time(first),
      until: all.times || last === this.steps - 1 ? null : time(last + 1),
      least: all.durations || !low ? null : least[low],
      most: all.durations || high === this.rows - 1 ? null : least[high + 1],
    };
  }

  // ---------------------------------------------------------------- choosing

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button || !this.steps) return;
    const at = this.placeAt(event);
    this.pull = {from: at, to: at, beside: at.beside, moved: false, flat: !at.beside, y: event.clientY};
    this.pressed = event.clientX;
    this.element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.steps) return;
    const at = this.placeAt(event);
    if (this.pull) {
      const high = Math.abs(event.clientY - this.pull.y);
      this.pull.moved ||= Math.abs(event.clientX - this.pressed) > DRAG || high > DRAG;
      this.pull.flat = !this.pull.beside && high < FLAT;
      this.pull.to = at;
      this.drawMarks();
    }
    this.tooltip.show(
      {name: at.beside ? this.tookOf(at.row) : this.timesOf(at.column), where: "", recursion: ""},
      {x: event.clientX, y: event.clientY},
      this.linesAt(at, at.beside),
    );
  }

  /** @param {PointerEvent} event */
  release(event) {
    if (!this.pull) return;
    this.pull.to = this.placeAt(event);
    const {from, to, beside, moved, flat} = this.pull;
    this.stopDrag();
    this.chooseRegion(this.regionOf(from, to, {times: beside, durations: moved && flat}));
  }

  stopDrag() {
    this.pull = null;
    super.stopDrag();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = {ArrowUp: 1, ArrowDown: -1}[event.key];
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && this.steps;
    if (by && plain) {
      this.moveRow(by, event.shiftKey);
      event.preventDefault();
    } else {
      super.key(event);
    }
  }

  /** @param {number} by @param {boolean} choosing */
  moveRow(by, choosing) {
    this.hold(choosing);
    const first = this.mark < 0;
    if (first) this.mark = this.steps - 1;
    if (!first) this.row = Math.min(this.rows - 1, Math.max(0, this.row + by));
    this.tell();
  }

  /** @param {number} by @param {boolean} choosing */
  moveMark(by, choosing) {
    this.hold(choosing);
    const last = this.steps - 1;
    this.mark = this.mark < 0 ? last : Math.min(last, Math.max(0, this.mark + by));
    this.tell();
  }

  /** A choice begins where the mark is. @param {boolean} choosing */
  hold(choosing) {
    if (choosing && this.anchor < 0) {
      this.anchor = this.mark < 0 ? this.steps - 1 : this.mark;
      this.anchorRow = this.row;
    }
    if (!choosing) this.anchor = this.anchorRow = -1;
  }

  /** @param {number} from @param {number} to columns */
  apply(from, to) {
    const row = this.anchor >= 0 ? this.anchorRow : this.row;
    this.anchor = -1;
    this.chooseRegion(this.regionOf({column: from, row}, {column: to, row: this.row}));
  }

  // ---------------------------------------------------------------- words

  tell() {
    this.drawMarks();
    const {mark, row, anchor, anchorRow} = this;
    const chosen =
      anchor >= 0
        ? `Chosen, Enter applies: ${this.timesOf(anchor, mark)}, ${this.tookOf(anchorRow, row)}. `
        : "";
    const n = this.countAt(mark, row);
    const {name} = this.slices;
    this.options.say(`${chosen}${this.timesOf(mark)}, ${this.tookOf(row)}: ${n} × ${name}`);
  }

  /** @param {number} a @param {number} [b] rows */
  tookOf(a, b = a) {
    const {least} = this.slices.heat;
    return `${durationText(least[Math.min(a, b)])} to ${durationText(least[Math.max(a, b) + 1])}`;
  }

  /** @param {number} column @param {number} row */
  countAt(column, row) {
    return this.cells.get(column * this.rows + row) ?? 0;
  }

  /** @param {Place} at @param {boolean} beside */
  linesAt({column, row}, beside) {
    const {name, heat} = this.slices;
    const n = beside ? heat.sums[row] : this.countAt(column, row);
    const trees = beside ? [] : this.trees.get(column * this.rows + row) ?? [];
    const line = (title, text) => [h("dt", null, title), h("dd", null, text)];
    return h(
      "dl.sums",
      null,
      beside ? null : line("took", this.tookOf(row)),
      line(name, count(n)),
      trees.length ? line("with a tree", trees.slice(0, 6).join(", ") + (trees.length > 6 ? " …" : "")) : null,
    );
  }

  // ---------------------------------------------------------------- drawing

  /** @param {any} slices */
  showSlices(slices) {
    const {heat, kept} = slices;
    this.slices = slices;
    this.cells = new Map(heat.cells.map(([column, row, n]) => [column * this.rows + row, n]));
    this.most = Math.max(1, ...this.cells.values());
    this.trees = new Map();
    for (const {slice, start, duration} of kept) {
      const column = Math.min(heat.columns - 1, Math.floor((start - heat.from) / heat.step));
      const row = Math.min(this.rows - 1, Math.floor(rowPlace(heat.least, duration)));
      const key = column * this.rows + row;
      this.trees.set(key, [...(this.trees.get(key) ?? []), slice]);
    }
    this.row = Math.min(this.row, this.rows - 1);
    const series = {from: heat.from / 1e6, step: heat.step / 1e6, steps: heat.columns, rows: []};
    const {mark, anchor} = this; // the steps of a live file grow longer: the mark stays
    super.show({series, metric: "", unit: "", decimals: 0, chosen: slices.chosen});
    this.mark = Math.min(mark, heat.columns - 1);
    this.anchor = Math.min(anchor, heat.columns - 1);
    this.drawMarks();
  }

  draw() {
    if (!this.shown || !this.element.clientWidth || !this.steps) return;
    this.right = this.element.clientWidth < NARROW ? BESIDE_NARROW : BESIDE;
    this.sizePicture();
    this.marks = svg("g", {});
    this.picture.replaceChildren(
      ...this.durationAxis(),
      ...this.paintCells(),
      ...this.paintTrees(),
      ...this.timeAxis(),
      this.paintBeside(),
      ...this.paintLines(),
      this.marks,
    );
    this.drawMarks();
  }

  durationAxis() {
    const {least} = this.slices.heat;
    return durationTicks(least, 7).map(duration => {
      const y = this.yOf(rowPlace(least, duration));
      return svg(
        "g",
        {},
        svg("line", {class: "grid", x1: LEFT, x2: LEFT + this.width + this.right, y1: y, y2: y}),
        svg("text", {x: LEFT - 8, y: y + 4, "text-anchor": "end"}, runText(duration / 1e6)),
      );
    });
  }

  /** A path per level. */
  paintCells() {
    const wide = this.width / this.steps,
      high = HEIGHT / this.rows;
    const gap = wide > 4 && high > 4 ? 0.5 : 0;
    const paths = new Map();
    for (const [key, n] of this.cells) {
      const level = levelOf(n, this.most);
      const x = LEFT + Math.floor(key / this.rows) * wide,
        y = this.yOf((key % this.rows) + 1);
      paths.set(level, (paths.get(level) ?? "") + boxPath(x, y, wide - gap, high - gap));
    }
    return [...paths].map(([level, d]) => svg("path", {d, class: "heat", "data-level": level}));
  }

  paintTrees() {
    const {heat, kept} = this.slices;
    return kept.map(({start, duration}) =>
      svg("circle", {
        class: "tree",
        cx: Math.min(this.xOf(start / 1e6), LEFT + this.width - 3),
        cy: this.yOf(rowPlace(heat.least, duration)),
        r: 2.5,
      }),
    );
  }

  /** The distribution. */
  paintBeside() {
    const {sums} = this.slices.heat;
    const most = Math.max(1, ...sums),
      high = HEIGHT / this.rows;
    const room = this.right - GAP - (this.right > BESIDE_NARROW ? LABELS : 0);
    const d = sums
      .map((n, row) => {
        if (!n) return "";
        const wide = Math.max(1, (n / most) * room);
        return boxPath(LEFT + this.width + GAP, this.yOf(row + 1), wide, Math.max(1, high - 1));
      })
      .join("");
    return svg("path", {d, class: "distribution"});
  }

  /** The percentiles, with their names beside the distribution where there is room. */
  paintLines() {
    const {lines, heat} = this.slices;
    let below = TOP + HEIGHT + LABEL;
    return lines.map(({duration, text}) => {
      const y = this.yOf(rowPlace(heat.least, duration));
      const end = LEFT + this.width + this.right;
      below = Math.min(y + 4, below - LABEL);
      return svg(
        "g",
        {class: "percentile"},
        svg("line", {x1: LEFT, x2: this.right > BESIDE_NARROW ? end - LABELS : end, y1: y, y2: y}),
        ...(this.right > BESIDE_NARROW
          ? [svg("text", {x: end, y: Math.max(TOP + 8, below), "text-anchor": "end"}, text)]
          : []),
      );
    });
  }

  /** What a region covers, in pixels. @param {Region} region */
  boxOf({from, until, least, most}) {
    const rows = this.slices.heat.least;
    const place = (duration, otherwise) => (duration === null ? otherwise : rowPlace(rows, duration));
    const x1 = from ? this.xOf(from / 1e6) : LEFT,
      x2 = until === null ? LEFT + this.width : this.xOf(until / 1e6);
    const y1 = this.yOf(place(most, this.rows)),
      y2 = this.yOf(place(least, 0));
    return {x: x1, y: y1, width: Math.max(2, x2 - x1), height: Math.max(2, y2 - y1)};
  }

  drawMarks() {
    if (!this.shown || !this.marks || !this.slices) return;
    const parts = [];
    const box = (region, kind) => parts.push(svg("rect", {class: kind, ...this.boxOf(region)}));
    const held = {column: this.anchor, row: this.anchorRow},
      here = {column: this.mark, row: this.row};
    if (this.pull?.moved) {
      const {from, to, beside, flat} = this.pull;
      box(this.regionOf(from, to, {times: beside, durations: flat}), "choosing");
    } else if (this.anchor >= 0) {
      box(this.regionOf(held, here), "choosing");
    } else if (this.slices.chosen) {
      parts.push(...this.around(this.boxOf(this.slices.chosen)));
    }
    if (this.mark >= 0 && document.activeElement === this.element) {
      const {x, width} = this.boxOf({...this.regionOf(here, here)});
      parts.push(
        svg("rect", {class: "cursor", x, width, y: this.yOf(this.row + 1), height: HEIGHT / this.rows}),
      );
    }
    this.marks.replaceChildren(...parts);
  }

  /** What is not chosen is pale. @param {{x: number, y: number, width: number, height: number}} box */
  around({x, y, width, height}) {
    const right = LEFT + this.width,
      low = TOP + HEIGHT;
    const pale = (x1, y1, x2, y2) =>
      x2 > x1 && y2 > y1
        ? [svg("rect", {class: "outside", x: x1, y: y1, width: x2 - x1, height: y2 - y1})]
        : [];
    return [
      ...pale(LEFT, TOP, x, low),
      ...pale(x + width, TOP, right, low),
      ...pale(x, TOP, x + width, y),
      ...pale(x, y + height, x + width, low),
      svg("rect", {class: "chosen", x, y, width, height}),
    ];
  }
}
