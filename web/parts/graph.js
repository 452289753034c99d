// SPDX-License-Identifier: MIT
//
// A small graph: boxes that are links like every mention of a block, and arrows between them, as
// thick as what flows. The arrows are SVG; screen readers get a list of sentences instead. The
// layout (model/layers.js, model/circle.js) is done again when the width changes.

import {amount, percent} from "../model/format.js";
import {blockLink, recursionMark} from "./block.js";
import {h} from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 7.3, // pixels of a letter in a box
  BOTH = 132; // pixels of a box that has room for an amount and its percentage

/**
 * @typedef {object} GraphData
 * @property {string} label of the whole, for screen readers
 * @property {{block: import("./block.js").Block, value: number|null, kind?: string}[]} nodes
 * @property {import("../model/graph.js").Edge[]} edges
 * @property {(edge: {from: number, to: number, value: number}) => string} told an arrow in a sentence
 * @property {(room: number) => import("../model/graph.js").Drawing} place
 * @property {string} key
 */

/** @param {string} tag @param {Record<string, any>} attributes @param {...Node} children */
function s(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** @param {import("../model/graph.js").Arrow} arrow @param {string} told */
function arrowElement(arrow, told) {
  const title = s("title", {});
  title.textContent = told;
  const group = s(
    "g",
    {class: arrow.back ? "arrow back" : "arrow"},
    title,
    // A thin arrow is hard to point at.
    s("path", {class: "reach", d: arrow.line, "stroke-width": Math.max(10, arrow.width)}),
    s("path", {class: "line", d: arrow.line, "stroke-width": arrow.width}),
    s("path", {class: "head", d: arrow.head}),
  );
  group.dataset.from = String(arrow.from);
  group.dataset.to = String(arrow.to);
  return group;
}

/** @param {any} answer @param {number|null|undefined} value @param {number} room */
function valueText(answer, value, room) {
  if (value === null || value === undefined) return "";
  const part = percent(value, answer.total);
  return room < BOTH ? part : `${amount(value, answer.unit, answer.decimals)} · ${part}`;
}

/** @param {import("../main.js").App} app @param {any} answer @param {GraphData} data @param {number} i
 * @param {import("../model/graph.js").Box} box */
function nodeElement(app, answer, data, i, box) {
  const {block, value, kind} = data.nodes[i];
  return h(
    kind ? "li.node." + kind : "li.node",
    {
      data: {node: i},
      vars: {"--x": box.x + "px", "--y": box.y + "px", "--w": box.w + "px", "--h": box.h + "px"},
    },
    blockLink(
      app,
      {...block, recursion: null},
      {key: data.key, most: Math.max(6, Math.floor((box.w - 20) / LETTER))},
    ),
    h(
      "span.below",
      null,
      h(
        "span.part",
        null,
        valueText(answer, value, box.w),
      ),
      recursionMark(block.recursion),
    ),
  );
}

/**
 * What belongs to the box under the pointer or with the focus stands out.
 * @param {HTMLElement} element
 * @param {EventTarget|null} target
 */
function light(element, target) {
  const node = target instanceof Element ? target.closest("[data-node]") : null;
  const lit = node instanceof HTMLElement ? node.dataset.node : null;
  element.classList.toggle("lighting", lit !== null);
  for (const arrow of element.querySelectorAll(".arrow")) {
    const {from, to} = /** @type {SVGElement} */ (arrow).dataset;
    arrow.classList.toggle("lit", lit !== null && (from === lit || to === lit));
  }
}

/**
 * @param {import("../main.js").App} app
 * @param {any} answer
 * @param {GraphData} data
 * @param {number} room pixels, to begin with
 */
export function graph(app, answer, data, room) {
  const arrows = s("svg", {"aria-hidden": "true", focusable: "false"});
  const nodes = h("ul.nodes", {"aria-label": "Blocks"});
  const sheet = h("div.sheet", null, arrows, nodes);
  const told = data.edges.map(edge => h("li", null, data.told(edge)));
  const element = h(
    "div.graph",
    {role: "group", "aria-label": data.label},
    sheet,
    told.length ? h("ul.unseen", {"aria-label": "Calls"}, told) : null,
  );
  const draw = width => {
    const drawing = data.place(width);
    sheet.style.setProperty("--w", drawing.width + "px");
    sheet.style.setProperty("--h", drawing.height + "px");
    arrows.setAttribute("viewBox", `0 0 ${drawing.width} ${drawing.height}`);
    arrows.replaceChildren(
      ...drawing.arrows.map(arrow => arrowElement(arrow, data.told(arrow))),
    );
    nodes.replaceChildren(
      ...drawing.boxes.map((box, i) => nodeElement(app, answer, data, i, box)),
    );
  };
  let drawn = room,
    seen = false;
  draw(room);
  new ResizeObserver(() => {
    const now = element.clientWidth;
    const centre = element.querySelector(".centre");
    // What is too wide begins with the block in sight.
    if (!seen && now && centre instanceof HTMLElement)
      element.scrollLeft = centre.offsetLeft + (centre.offsetWidth - now) / 2;
    seen ||= now > 0;
    if (!now || Math.abs(now - drawn) < 2 || element.contains(document.activeElement)) return;
    drawn = now;
    draw(now);
  }).observe(element);
  element.addEventListener("pointerover", event => light(element, event.target));
  element.addEventListener("pointerleave", () => light(element, document.activeElement));
  element.addEventListener("focusin", event => light(element, event.target));
  element.addEventListener("focusout", () => light(element, null));
  return element;
}
