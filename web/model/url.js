// SPDX-License-Identifier: MIT
//
// The state of a page is its address. This file turns one into the other, and knows which parts
// stay when one page leads to another (metric, filters, side) and which do not (search, sort,
// offset). Nothing here touches the DOM, so the tests run it under node.

/**
 * @typedef {object} State
 * @property {string} page      one of PAGES, or "missing"
 * @property {string} metric    "" is the profile's own choice
 * @property {string[]} select  labels of blocks
 * @property {string[]} exclude
 * @property {string[]} fold
 * @property {string} side      "" or "after", when two files are open
 * @property {string} search
 * @property {string} sort      a column, "-" in front for descending; "" is the server's choice
 * @property {number} offset    first row of a table
 * @property {number} rows      how many rows of it; 0 is the page's choice
 * @property {string[]} block   the sequence of the block page
 * @property {string[]} at      path of the box or the level that is looked at
 * @property {string[][]} open  paths that are open in the call tree
 * @property {string} file      source page
 * @property {number} line
 * @property {string} colour    flame graph: "" (as fits), "file" or "block"
 * @property {string[]} state   compare: which rows
 */

export const PAGES = [
  "overview",
  "self",
  "overall",
  "paths",
  "block",
  "flame",
  "tree",
  "recursion",
  "source",
  "compare",
];
export const FILTERS = /** @type {const} */ (["select", "exclude", "fold"]);

const TEXTS = /** @type {const} */ (["metric", "side", "search", "sort", "file", "colour"]);
const LISTS = /** @type {const} */ (["select", "exclude", "fold", "block", "at", "state"]);
const NUMBERS = /** @type {const} */ (["offset", "rows", "line"]);

// Separates the labels of a path. Labels hold any other character, but names have no
// control characters.
const BETWEEN = "\u001f";
// The parts of a state that a page passes on to another page.
const KEPT = /** @type {const} */ (["metric", "select", "exclude", "fold", "side"]);

// A page that is one file has its addresses behind a "#": x.html#/self?metric=time
let mark = "";

/** Addresses are those of a page that is one file. @param {boolean} so */
export function useFragments(so) {
  mark = so ? "#" : "";
}

/** @param {string} page @returns {State} */
export function blank(page) {
  return {
    page,
    metric: "",
    select: [],
    exclude: [],
    fold: [],
    side: "",
    search: "",
    sort: "",
    offset: 0,
    rows: 0,
    block: [],
    at: [],
    open: [],
    file: "",
    line: 0,
    colour: "",
    state: [],
  };
}

/** @param {string} text a number from the address, which may say anything */
function natural(text) {
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
}

/** @param {string} address path and query, or a whole URL @returns {State} */
export function parse(address) {
  let url = new URL(address, "http://localhost/");
  if (mark) url = new URL(url.hash.slice(1) || "/", "http://localhost/");
  const name = url.pathname === "/" ? "overview" : url.pathname.slice(1);
  const state = blank(PAGES.includes(name) && url.pathname !== "/overview" ? name : "missing");
  const query = url.searchParams;
  for (const key of TEXTS) state[key] = query.get(key) ?? "";
  for (const key of LISTS) state[key] = query.getAll(key);
  for (const key of NUMBERS) state[key] = natural(query.get(key) ?? "");
  state.open = query.getAll("open").map(path => path.split(BETWEEN));
  for (const key of FILTERS) state[key] = [...new Set(state[key])];
  return state;
}

/** @param {State} state @returns {string} its address: parse(href(s)) is s */
export function href(state) {
  const query = new URLSearchParams();
  for (const key of TEXTS) if (state[key]) query.set(key, state[key]);
  for (const key of LISTS) for (const value of state[key]) query.append(key, value);
  for (const key of NUMBERS) if (state[key]) query.set(key, String(state[key]));
  for (const path of state.open) query.append("open", path.join(BETWEEN));
  const text = query.toString();
  return mark + (state.page === "overview" ? "/" : "/" + state.page) + (text ? "?" + text : "");
}

/** The same page with a change. A table starts at its first row again, unless `change` says where.
 * @param {State} state @param {Partial<State>} change @returns {State} */
export function changed(state, change) {
  return {...state, offset: 0, ...change};
}

/** Another page of the same profile: filters and metric stay, search and offset do not.
 * @param {State} state @param {string} page @param {Partial<State>} change @returns {State} */
export function to(state, page, change = {}) {
  const next = blank(page);
  for (const key of KEPT) Object.assign(next, {[key]: state[key]});
  return {...next, ...change};
}

/** Adds a block to a filter and removes it from the others, which would contradict it.
 * @param {State} state
 * @param {"select"|"exclude"|"fold"} filter
 * @param {string} label
 * @returns {State} */
export function filtered(state, filter, label) {
  const next = changed(state, {rows: 0, open: []});
  for (const key of FILTERS) next[key] = state[key].filter(other => other !== label);
  next[filter] = [...next[filter], label];
  return filter === "select" ? next : {...next, at: before(state.at, label)};
}

/** The path up to a block that is about to go away. @param {string[]} path @param {string} label */
function before(path, label) {
  const index = path.indexOf(label);
  return index < 0 ? path : path.slice(0, index);
}

/**
 * @param {State} state
 * @param {"select"|"exclude"|"fold"} filter
 * @param {string} label
 * @returns {State}
 */
export function unfiltered(state, filter, label) {
  return changed(state, {[filter]: state[filter].filter(other => other !== label)});
}

/** @param {State} state */
export function hasFilters(state) {
  return FILTERS.some(key => state[key].length > 0);
}

/** The parameters that every question of the API takes.
 * @param {State} state @param {Record<string, string|number|string[]|undefined>} more
 * @returns {URLSearchParams} */
export function question(state, more = {}) {
  const query = new URLSearchParams();
  if (state.metric) query.set("metric", state.metric);
  for (const key of FILTERS) for (const label of state[key]) query.append(key, label);
  if (state.side) query.set("side", state.side);
  for (const [key, value] of Object.entries(more)) {
    if (value === undefined || value === "") continue;
    for (const one of [value].flat()) query.append(key, String(one));
  }
  return query;
}
