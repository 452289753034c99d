// SPDX-License-Identifier: MIT
//
// A menu that opens at a button, at a link or at the pointer. There is one at a time; arrows move
// in it, Escape closes it and gives the focus back.

import {h} from "./dom.js";

/**
 * @typedef {{text: string, more?: string, key?: string, href?: string, download?: string,
 *   act?: () => void}|null} Item null: a separator
 */

/** @type {{element: HTMLElement, from: HTMLElement|null}|null} */
let open = null;

export function menuIsOpen() {
  return open !== null;
}

/** @param {boolean} [giveBack] whether to give the focus back */
export function closeMenu(giveBack = false) {
  if (!open) return;
  const {element, from} = open;
  open = null;
  element.remove();
  from?.setAttribute("aria-expanded", "false");
  if (giveBack) from?.focus();
}

/** @param {Item} item */
function itemElement(item) {
  if (!item) return h("li", {role: "separator"});
  const text = item.more ? [item.text, " ", h("span.effect", null, item.more)] : item.text;
  const inside = [h("span", null, text), item.key ? h("kbd", null, item.key) : null];
  const common = {role: "menuitem", tabindex: "-1"};
  const element = item.href
    ? h("a", {...common, href: item.href, download: item.download ?? null}, inside)
    : h("button", {...common, type: "button"}, inside);
  element.addEventListener("click", () => {
    const {act} = item;
    closeMenu(true);
    act?.();
  });
  return h("li", {role: "none"}, element);
}

/**
 * @param {HTMLElement} menu
 * @param {{left: number, right: number, top: number, bottom: number}} at
 */
function put(menu, at) {
  const {width, height} = menu.getBoundingClientRect();
  const room = document.documentElement;
  const below = at.bottom + height + 8 <= room.clientHeight || at.top < height + 8;
  menu.style.left = Math.max(4, Math.min(at.left, room.clientWidth - width - 4)) + "px";
  menu.style.top =
    Math.max(
      4,
      below ? Math.min(at.bottom + 2, room.clientHeight - height - 4) : at.top - height - 2,
    ) + "px";
}

/** @param {KeyboardEvent} event @param {HTMLElement} menu */
function moveIn(event, menu) {
  const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("[role=menuitem]")]);
  const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const targets = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1};
  if (event.key === "Escape" || event.key === "Tab") closeMenu(true);
  else if (event.key in targets) items[(targets[event.key] + items.length) % items.length].focus();
  else if (event.key.length === 1)
    items.find(item => item.querySelector("kbd")?.textContent === event.key)?.click();
  else return;
  if (event.key !== "Tab") event.preventDefault();
  event.stopPropagation();
}

/**
 * @param {string} label for screen readers @param {Item[]} items
 * @param {HTMLElement|null} from gets the focus back
 * @param {{x: number, y: number}|null} [point] instead of below `from`
 */
export function openMenu(label, items, from, point = null) {
  closeMenu();
  const menu = h("ul.menu", {role: "menu", "aria-label": label}, items.map(itemElement));
  // Inside a landmark, because screen readers expect content there.
  (from?.closest("header, main") ?? document.body).append(menu);
  put(
    menu,
    point
      ? {left: point.x, right: point.x, top: point.y, bottom: point.y}
      : from.getBoundingClientRect(),
  );
  menu.addEventListener("keydown", event => moveIn(event, menu));
  menu.addEventListener("focusout", event => {
    if (open?.element === menu && !menu.contains(event.relatedTarget)) closeMenu();
  });
  from?.setAttribute("aria-expanded", "true");
  open = {element: menu, from};
  menu.querySelector("[role=menuitem]")?.focus();
}

document.addEventListener("pointerdown", event => {
  if (open && event.target instanceof Node && !open.element.contains(event.target)) closeMenu();
});
