// SPDX-License-Identifier: MIT
//
// Makes elements. Text is always text: nothing here uses innerHTML, so a name from a profile cannot
// become markup. All text and all titles are made visible here, so a name cannot turn what stands beside it.

import {visible} from "../model/format.js";

// Attributes that are read.
const READ = new Set(["title", "aria-label", "placeholder", "alt"]);

/**
 * @typedef {Node|string|number|null|undefined|false|any[]} Child lists are flattened
 */

/**
 * h("a.link", {href: "/"}, "text"). Properties that start with "on" are listeners, `data` and
 * `vars` are data-attributes and CSS variables, the rest are attributes; null and false leave
 * them out.
 * @param {string} tag a name, and classes after dots
 * @param {Record<string, any>|null} [properties] @param {...(Child|Child[])} children
 * @returns {any}
 */
export function h(tag, properties, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties ?? {})) set(element, key, value);
  add(element, children);
  return element;
}

/** @param {HTMLElement} element @param {string} key @param {any} value */
function set(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
  else if (key === "data") Object.assign(element.dataset, value);
  else if (key === "vars")
    for (const [name, v] of Object.entries(value)) element.style.setProperty(name, String(v));
  else element.setAttribute(key, value === true ? "" : READ.has(key) ? visible(String(value)) : String(value));
}

/** @param {Element} element @param {any[]} children */
export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

/** Replaces the children of an element. If the focused child is there again, it keeps the focus.
 * @param {Element} element @param {...any} children */
export function fill(element, ...children) {
  const held = focusIn(element);
  element.textContent = "";
  add(element, children);
  if (held) refocus(element, held);
}

/** @param {Element} element @returns {{key: string, index: number}|null} */
function focusIn(element) {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement) || active === element || !element.contains(active))
    return null;
  const key = keyOf(active);
  return {key, index: keyed(element).indexOf(active)};
}

/** @param {HTMLElement} element */
function keyOf(element) {
  return element.dataset.key ?? element.id ?? "";
}

/** @param {Element} element @returns {HTMLElement[]} */
function keyed(element) {
  return [...element.querySelectorAll("[data-key], [id]")].filter(
    one => one instanceof HTMLElement,
  );
}

/** Focuses the same child, else the one at its index, so that the focus does not go to the top.
 * @param {Element} element @param {{key: string, index: number}} held */
function refocus(element, held) {
  const there = keyed(element);
  const same =
    there.find(one => keyOf(one) === held.key) ?? there[Math.min(held.index, there.length - 1)];
  same?.focus({preventScroll: true});
}

/** Text for screen readers only. @param {string} text */
export function unseen(text) {
  return h("span.unseen", null, text);
}
