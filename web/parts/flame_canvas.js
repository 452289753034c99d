// SPDX-License-Identifier: MIT
//
// Draws a flame graph on a canvas that is as large as its visible part: a tall graph scrolls in its
// frame. Zooming to a box asks for the tree below it. Until the answer arrives, the known boxes move
// to their new positions, so the picture never jumps. The root is at the top, or, for callers, at
// the bottom. model/flame.js has the layout, flame_gestures.js what pointers and keys do. The
// picture says how a box is filled, the handlers decide what a click does.

import {palette} from "../model/colour.js";
import {boxLabel, count, shortened} from "../model/format.js";
import {between, covering, eachVisible, hit, layout, viewIn, viewOf} from "../model/flame.js";
import {h} from "./dom.js";
import {listen} from "./flame_gestures.js";
import {Minimap} from "./minimap.js";

const FACES = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const LASTS = 220; // milliseconds of a zoom
const LETTER = 7; // width in pixels in a row of 19, about
const NARROWEST = 0.7; // width of a box in pixels
const ABOVE = 12; // rows above the zoomed box; of more, the nearest and "all"

/**
 * @typedef {object} Place where in the tree an answer looks, as in docs/api.md
 * @property {string|null} id   @property {number|null} block  @property {number} level
 * @property {{id: string, block: number}[]} above
 *
 * @typedef {object} Picture
 * @property {any} flame the columns
 * @property {any[]} blocks
 * @property {Place} [at] without it, row 0 is the top
 * @property {(row: number, colours: ReturnType<typeof palette>) => string} fill
 * @property {number[]} [found] places of blocks that a search has found; the other boxes are dimmed
 *
 * @typedef {object} Handlers
 * @property {(path: string, row: number) => void} zoom to the path with this id; "": to everything.
 *   row: the box, or -1
 * @property {() => void} [looked] another part of the picture is shown
 * @property {(row: number) => void} [pick]   a box got the focus; -1: none
 * @property {(row: number, point: {x: number, y: number}|null) => void} [menu]
 * @property {(row: number, key: string) => boolean} [key] other keys; true if it was one
 * @property {(row: number, point: {x: number, y: number}|null) => void} [hover] -1: none
 */

/** @type {Place} */
const EVERYTHING = {id: null, block: null, level: 0, above: []};

/** @param {Place} at @param {any[]} blocks @returns {{text: string, id: string|null}[]} */
export function rowsAbove(at, blocks) {
  if (at.id === null) return [];
  const near = at.above.slice(at.level - 1 > ABOVE ? -ABOVE + 2 : 0);
  const left = at.level - 1 - near.length;
  return [
    {text: "all", id: ""},
    ...(left > 0 ? [{text: `… ${count(left)} levels …`, id: null}] : []),
    ...near.map(({id, block}) => ({text: blocks[block].name, id})),
  ];
}

export class FlameCanvas {
  /**
   * @param {{label: string, rowHeight?: number, describedBy?: string, isDark: () => boolean,
   *   up?: boolean, map?: boolean}} options up: the root is at the bottom; map: with a small map of
   *   the whole picture while a part of it is shown
   * @param {Handlers} handlers
   */
  constructor(options, handlers) {
    this.options = options;
    this.handlers = handlers;
    this.scale = 1; // the font is larger on very large screens
    this.row = options.rowHeight ?? 19;
    this.canvas = h("canvas", {"aria-hidden": "true"});
    this.space = h("div.flame-space", null, this.canvas);
    this.element = h(
      "div.flame",
      {
        tabindex: "0",
        role: "application",
        "aria-roledescription": "flame graph",
        "aria-label": options.label,
        "aria-describedby": options.describedBy ?? null,
      },
      this.space,
    );
    this.map = options.map ? new Minimap(this) : null;
    this.frame = h("div.flame-frame", null, this.element, this.map?.element);
    this.at = EVERYTHING;
    /** The rows above row 0. @type {{text: string, id: string|null}[]} */ this.above = [];
    this.view = {x0: 0, x1: 1};
    this.focus = -1;
    this.over = -1;
    /** By block. @type {Uint8Array|null} */ this.found = null;
    /** The part of a picture to come. @type {{id: string, view: any}|null} */ this.kept = null;
    this.labels = new Map();
    /** What stands behind the name in a box. @type {((row: number) => string)|null} */
    this.note = null;
    this.wanted = 0; // the requested animation frame
    this.wheeled = 0; // when the wheel turned last
    this.watch();
    listen(this);
  }

  watch() {
    const {element} = this;
    this.resized = new ResizeObserver(() => this.size());
    this.resized.observe(element);
    this.repaint = () => this.draw();
    document.addEventListener("themechange", this.repaint);
    // Paper does not scroll: all of the graph is drawn, up to a few pages, dark on light.
    this.printed = event => {
      this.printing = event.type === "beforeprint";
      element.classList.toggle("printing", this.printing);
      this.size();
    };
    addEventListener("beforeprint", this.printed);
    addEventListener("afterprint", this.printed);
  }

  close() {
    this.resized.disconnect();
    document.removeEventListener("themechange", this.repaint);
    removeEventListener("beforeprint", this.printed);
    removeEventListener("afterprint", this.printed);
    cancelAnimationFrame(this.wanted);
    this.stop();
  }

  /** @param {Picture} picture */
  show({flame, blocks, at = EVERYTHING, fill, found}) {
    const before = this.layout
      ? {layout: this.layout, ids: this.flame.id, at: this.at, view: this.view}
      : null;
    const held = before && this.focus >= 0 ? before.ids[this.focus] : undefined;
    this.flame = flame;
    this.blocks = blocks;
    this.layout = layout(flame);
    this.at = at;
    this.above = rowsAbove(at, blocks);
    this.fill = fill;
    this.found = found ? Uint8Array.from(blocks, () => 0) : null;
    for (const block of found ?? []) this.found[block] = 1;
    this.labels.clear();
    // Keeps the focus on the same box if it is still there; else on the zoomed one.
    this.focus = held === undefined ? -1 : Math.max(0, flame.id.indexOf(held));
    this.setOver(-1, null);
    this.start(before);
    this.size();
    if (this.options.up && !before) this.element.scrollTop = this.element.scrollHeight;
  }

  /** The next picture has nothing to do with this one. */
  forget() {
    this.layout = null;
    this.kept = null;
    this.focus = -1;
  }

  /** The view in which the new picture begins, so that it continues the old one. @param {any} before */
  start(before) {
    this.stop();
    if (before && before.at.id === this.at.id) return; // new numbers: the same part is shown
    const {kept} = this;
    this.kept = null;
    this.view = kept?.id === this.at.id ? kept.view : {x0: 0, x1: 1};
    if (!before || kept) return;
    const inwards = before.ids.indexOf(this.at.id),
      outwards = this.flame.id.indexOf(before.at.id);
    if (inwards >= 0) {
      const box = viewOf(before.layout, inwards);
      const width = box.x1 - box.x0;
      this.animate(
        {x0: (before.view.x0 - box.x0) / width, x1: (before.view.x1 - box.x0) / width},
        {x0: 0, x1: 1},
      );
    } else if (outwards >= 0) {
      this.animate(viewOf(this.layout, outwards), {x0: 0, x1: 1});
    }
  }

  /** @param {import("../model/flame.js").View} from @param {import("../model/flame.js").View} to */
  animate(from, to) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.view = to;
      return this.draw();
    }
    const began = performance.now();
    this.view = from;
    const frame = now => {
      const t = Math.min(1, Math.max(0, now - began) / LASTS);
      this.view = between(from, to, t);
      this.moving = t < 1 ? requestAnimationFrame(frame) : 0;
      this.paint();
    };
    this.moving = requestAnimationFrame(frame);
  }

  stop() {
    if (this.moving) cancelAnimationFrame(this.moving);
    this.moving = 0;
  }

  /** Shows another part of the picture, at once. @param {import("../model/flame.js").View} view */
  look(view) {
    this.stop();
    this.view = view;
    this.setOver(-1, null);
    this.draw();
    this.handlers.looked?.();
  }

  get letter() {
    return LETTER * this.scale * (this.options.rowHeight ? 6 / 7 : 1);
  }

  get depths() {
    return this.above.length + (this.layout?.levels.length ?? 1);
  }

  /** Whether all of the width is shown. */
  get isWhole() {
    return this.view.x1 - this.view.x0 > 0.999999;
  }

  size() {
    const {element, canvas} = this;
    const width = element.clientWidth;
    this.scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    this.row = Math.round((this.options.rowHeight ?? 19) * this.scale);
    this.space.style.height = this.depths * this.row + "px";
    const height = Math.max(1, Math.min(element.clientHeight || this.row, this.depths * this.row));
    const ratio = devicePixelRatio || 1;
    if (
      canvas.width !== Math.round(width * ratio) ||
      canvas.height !== Math.round(height * ratio)
    ) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
    }
    this.width = width;
    this.height = height;
    this.paint();
  }

  draw() {
    if (this.wanted || this.moving) return;
    this.wanted = requestAnimationFrame(() => {
      this.wanted = 0;
      this.paint();
    });
  }

  get colours() {
    return palette(this.options.isDark() && !this.printing);
  }

  /** The line of a depth, or the depth of a line: lines are counted from the top.
   * @param {number} depth */
  line(depth) {
    return this.options.up ? this.depths - 1 - depth : depth;
  }

  paint() {
    if (!this.layout || !this.width) return;
    const ratio = devicePixelRatio || 1,
      {colours} = this;
    const c = this.canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = `${Math.round((this.options.rowHeight ? 10 : 12) * this.scale)}px ${FACES}`;
    c.textBaseline = "middle";
    const top = this.element.scrollTop;
    const first = Math.floor(top / this.row),
      last = Math.min(this.depths - 1, Math.ceil((top + this.height) / this.row));
    for (let line = first; line <= last; line++) {
      const depth = this.line(line),
        y = line * this.row - top;
      if (depth < this.above.length) this.paintAncestor(c, depth, y, colours);
      else
        eachVisible(
          this.layout,
          depth - this.above.length,
          this.view,
          this.width,
          NARROWEST,
          (row, left, width) => this.paintBox(c, row, left, y, width, colours),
        );
    }
    this.map?.paint();
  }

  /** The rows above the zoomed box: 0 is everything. */
  paintAncestor(c, depth, y, colours) {
    c.fillStyle = colours.dimmed;
    c.fillRect(0, y, this.width - 1, this.row - 1);
    c.fillStyle = colours.dimmedText;
    c.fillText(
      shortened(this.above[depth].text, Math.floor(this.width / this.letter) - 2),
      5,
      y + this.row / 2,
      this.width - 10,
    );
  }

  /** @param {number} row */
  isFound(row) {
    const block = this.layout.block[row];
    return this.found !== null && block >= 0 && this.found[block] === 1;
  }

  /** @param {number} row @param {ReturnType<typeof palette>} colours */
  fillOf(row, colours) {
    if (this.isFound(row)) return colours.found;
    return this.found === null ? this.fill(row, colours) : colours.dimmed;
  }

  paintBox(c, row, left, y, width, colours) {
    const shown = width > 2.5 ? width - 1 : width;
    const isFound = this.isFound(row);
    const dim = this.found !== null && !isFound;
    c.fillStyle = this.fillOf(row, colours);
    c.fillRect(left, y, shown, this.row - 1);
    const recursions = this.flame.recursions?.[row] ?? 0;
    if (recursions > 0 && shown > 6) {
      c.fillStyle = dim ? colours.dimmedText : isFound ? colours.foundText : colours.quiet;
      c.fillRect(left, y + this.row - 3, shown, 2);
    }
    if (shown > 3 * this.letter) {
      const room = Math.floor((shown - 8) / this.letter);
      c.fillStyle = isFound ? colours.foundText : dim ? colours.dimmedText : colours.text;
      if (room > 3)
        c.fillText(this.label(row, room, recursions > 0), left + 4, y + this.row / 2, shown - 8);
    }
    if (row === this.focus && (this.found || document.activeElement === this.element))
      this.outline(c, left, y, shown, colours.focus);
    else if (row === this.over) this.outline(c, left, y, shown, colours.quiet);
  }

  outline(c, left, y, width, colour) {
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.strokeRect(left + 1, y + 1, Math.max(1, width - 2), this.row - 3);
  }

  /** Caches cut names, so that they are not cut again in every frame. */
  label(row, room, recursive) {
    const block = this.layout.block[row];
    const note = this.note?.(row) ?? "";
    const key = `${block} ${Math.min(room, 4095)} ${recursive} ${note}`;
    let text = this.labels.get(key);
    if (text === undefined) {
      const name = block < 0 ? "all" : this.blocks[block].name;
      const left = room - (recursive ? 2 : 0) - (note ? note.length + 1 : 0);
      // A note that leaves no room for the name is left out.
      const noted = note && left > 3;
      text =
        (recursive ? "↻ " : "") +
        boxLabel(name, noted || !note ? left : room - (recursive ? 2 : 0)) +
        (noted ? " " + note : "");
      if (this.labels.size > 20000) this.labels.clear();
      this.labels.set(key, text);
    }
    return text;
  }

  // ------------------------------------------------------------ boxes on the screen

  /** The place in the picture of a point on the screen, 0 to 1. @param {number} x */
  xAt(x) {
    const box = this.canvas.getBoundingClientRect();
    return this.view.x0 + ((x - box.left) / this.width) * (this.view.x1 - this.view.x0);
  }

  /** @param {MouseEvent} event @returns {number} row; -1 none; -2 - depth for an ancestor */
  rowAt(event) {
    if (!this.layout) return -1;
    const box = this.canvas.getBoundingClientRect();
    const line = Math.floor((event.clientY - box.top + this.element.scrollTop) / this.row);
    if (line < 0 || line >= this.depths || event.clientY > box.bottom) return -1;
    const depth = this.line(line);
    if (depth < this.above.length) return -2 - depth;
    return hit(this.layout, this.xAt(event.clientX), depth - this.above.length);
  }

  /** The point of a box on the screen, for a menu. @param {number} row */
  pointOf(row) {
    const box = this.canvas.getBoundingClientRect(),
      width = this.view.x1 - this.view.x0;
    const line = this.line(this.above.length + this.layout.depth[row]);
    return {
      x: box.left + Math.max(0, ((this.layout.x0[row] - this.view.x0) / width) * this.width) + 8,
      y: box.top + (line + 1) * this.row - this.element.scrollTop,
    };
  }

  setOver(row, point) {
    if (row !== this.over) {
      this.over = row;
      this.draw();
    }
    this.handlers.hover?.(row, point);
  }

  /**
   * The deepest box that holds all that is shown, to ask for what was too narrow to be sent. The
   * next picture of it begins with the same part.
   * @returns {string|null} its id
   */
  closer() {
    const row = this.layout ? covering(this.layout, this.view) : 0;
    if (row === 0) return null;
    const id = this.flame.id[row];
    this.kept = {id, view: viewIn(this.layout, row, this.view)};
    return id;
  }

  /** @param {number} row */
  zoom(row) {
    if (row === 0) return this.zoomOut();
    this.animate(this.view, viewOf(this.layout, row));
    this.zoomTo(this.flame.id[row], row);
  }

  zoomOut() {
    if (this.at.id !== null) this.zoomTo(this.at.above[this.at.above.length - 1]?.id ?? "");
  }

  /** @param {string|null} id null: a row that stands for several levels */
  zoomTo(id, row = -1) {
    this.setOver(-1, null);
    if (id !== null) this.handlers.zoom(id, row);
  }

  /** @param {number} row */
  setFocus(row) {
    this.focus = row;
    this.scrollTo(row);
    this.draw();
    this.handlers.pick?.(row);
  }

  /** Brings a box into sight. @param {number} row */
  scrollTo(row) {
    const {element, view, layout: l} = this;
    const y = this.line(this.above.length + l.depth[row]) * this.row;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + this.row > element.scrollTop + element.clientHeight)
      element.scrollTop = y + this.row - element.clientHeight;
    const width = view.x1 - view.x0;
    if (l.x1[row] <= view.x0 || l.x0[row] >= view.x1) {
      const x0 = Math.min(1 - width, Math.max(0, (l.x0[row] + l.x1[row] - width) / 2));
      this.view = {x0, x1: x0 + width};
    }
  }
}
