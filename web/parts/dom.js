// SPDX-License-Identifier: MIT
//
// Makes elements. Text is always text: there is no way from here to innerHTML, so a name from a
// profile cannot become markup.

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * h("a.link", {href: "/"}, "text"). Properties that start with "on" are listeners, `data` and `vars`
 * are data-attributes and CSS variables, the rest are attributes; null and false leave them out.
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
    else if (key === "vars") for (const [name, v] of Object.entries(value)) element.style.setProperty(name, String(v));
    else element.setAttribute(key, value === true ? "" : String(value));
}

/** @param {Element} element @param {any[]} children */
export function add(element, children) {
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        element.append(child instanceof Node ? child : String(child));
    }
}

/** Replaces what is in an element; what was focused there is focused again if it is there again.
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
    if (!(active instanceof HTMLElement) || active === element || !element.contains(active)) return null;
    const key = keyOf(active);
    return {key, index: keyed(element).indexOf(active)};
}

/** @param {HTMLElement} element */
function keyOf(element) {
    return element.dataset.key ?? element.id ?? "";
}

/** @param {Element} element @returns {HTMLElement[]} */
function keyed(element) {
    return [...element.querySelectorAll("[data-key], [id]")].filter(one => one instanceof HTMLElement);
}

/** The same thing; else what stands in its place, so that the keyboard does not fall to the top.
 * @param {Element} element @param {{key: string, index: number}} held */
function refocus(element, held) {
    const there = keyed(element);
    const same = there.find(one => keyOf(one) === held.key) ?? there[Math.min(held.index, there.length - 1)];
    same?.focus({preventScroll: true});
}

/** Text for screen readers alone. @param {string} text */
export function unseen(text) {
    return h("span.unseen", null, text);
}
