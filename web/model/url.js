// SPDX-License-Identifier: MIT
//
// The state of a page is its address. This file turns one into the other, and knows which parts
// stay when one page leads to another (metric, filters, side) and which do not (search, sort,
// offset). Nothing here touches the DOM, so the tests run it under node.

import {allParts} from "./filters.js";

/**
 * @typedef {object} State
 * @property {string} page      one of PAGES, or "missing"
 * @property {string} metric    "" is the profile's own choice
 * @property {string[]} select  labels of blocks
 * @property {string[]} exclude
 * @property {string[]} fold
 * @property {string[]} select-match  regular expressions: all blocks that match
 * @property {string[]} exclude-match
 * @property {string[]} fold-match
 * @property {string[]} label   of samples: KEY=VALUE or KEY!=VALUE
 * @property {string[]} named   sets of filters with a name, see filters.js
 * @property {string} last      live: the seconds that are looked at; "" is all
 * @property {string} during    live: FROM-UNTIL, in seconds since the viewer opened the file; "" is all
 * @property {string} slices    a choice among the slices of the recording, see slices.js; "" is everything
 * @property {string} against   the slices that these are compared with, on the comparison
 * @property {string} where     which part of a store; "" is everything
 * @property {string} with      what it is compared with; "" is nothing
 * @property {string} follow    "yes": the store is asked for news
 * @property {string} by        fleet: the label that the chart is stacked by, or "none"; "" is what fits
 * @property {string} span      fleet: the time that the chart shows; "" is all
 * @property {string} side      "" or "after", when two files are open
 * @property {string} search
 * @property {string} sort      a column, "-" in front for descending; "" is the server's choice
 * @property {number} offset    first row of a table
 * @property {number} rows      how many rows of it; 0 is the page's choice
 * @property {string[]} block   the sequence of the block page
 * @property {string} path      id of the path that is looked at: a box, or the top of the tree
 * @property {string[]} at      the same as labels, as addresses had it before there were ids
 * @property {string[]} open    ids of paths that are open in the call tree; ["none"] is none of
 *   them, and [] the hottest path
 * @property {string} file      source page
 * @property {number} line
 * @property {string[]} map     FROM=TO: where the folders of source files are here
 * @property {string} invert    flame graph: "" or "yes", upside down
 * @property {number} match     which match of the search is looked at, from 1 on; 0: none
 * @property {string} colour    flame graph: "" (as fits), "file" or "block"
 * @property {string[]} state   compare: which rows
 * @property {string} view      compare: "" is the table, "flame" the difference flame graph
 * @property {string} width     its boxes are as wide as "" after or "before"
 * @property {string} per       its colours are those of "" amounts or of shares of the "total"
 */

export const PAGES = [
  "fleet",
  "time",
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
// All that a set of filters has.
export const PARTS = /** @type {const} */ ([
  ...FILTERS,
  "select-match",
  "exclude-match",
  "fold-match",
  "label",
]);

const TEXTS = /** @type {const} */ ([
  "where",
  "with",
  "metric",
  "side",
  "last",
  "during",
  "slices",
  "against",
  "search",
  "sort",
  "path",
  "file",
  "invert",
  "colour",
  "follow",
  "by",
  "span",
]);
const COMPARE = /** @type {const} */ (["view", "width", "per"]);
const LISTS = /** @type {const} */ ([...PARTS, "named", "block", "at", "open", "state", "map"]);
const NUMBERS = /** @type {const} */ (["offset", "rows", "line", "match"]);

const ID = /^[A-P][\w-]{10}$/;
// The parts of a state that a page passes on to another page.
const KEPT = /** @type {const} */ ([
  "where",
  "with",
  "metric",
  ...PARTS,
  "named",
  "side",
  "last",
  "during",
  "slices",
  "against",
  "map",
  "follow",
  "by",
  "span",
]);

// A part of the time; only one of them at a time makes sense.
const TIMES = /** @type {const} */ (["last", "during", "slices"]);

/** The same page of another part of the time, or of all of it.
 * @param {State} state @param {{last?: string, during?: string, slices?: string, against?: string}} time
 * @returns {State} */
export function atTime(state, time) {
  return changed(state, {last: "", during: "", slices: "", against: "", rows: 0, open: [], ...time});
}

// A page that is one file has its addresses behind a "#": x.html#/self?metric=time
let mark = "";

/** Addresses are those of a page that is one file. @param {boolean} so */
export function useFragments(so) {
  mark = so ? "#" : "";
}

// A store is open: every question says which part of it is meant.
let store = false;

/** @param {boolean} so whether a store is open */
export function useStore(so) {
  store = so;
}

/** The parameters that say which profile is meant. @param {State} state @returns {URLSearchParams} */
export function chosen(state) {
  const query = new URLSearchParams();
  if (store) query.set("where", state.where);
  if (store && state.with) query.set("with", state.with);
  return query;
}

/** @param {string} page @returns {State} */
export function blank(page) {
  return {
    page,
    metric: "",
    select: [],
    exclude: [],
    fold: [],
    "select-match": [],
    "exclude-match": [],
    "fold-match": [],
    label: [],
    named: [],
    where: "",
    with: "",
    follow: "",
    by: "",
    span: "",
    side: "",
    last: "",
    during: "",
    slices: "",
    against: "",
    search: "",
    sort: "",
    offset: 0,
    rows: 0,
    block: [],
    path: "",
    at: [],
    open: [],
    file: "",
    line: 0,
    invert: "",
    match: 0,
    map: [],
    colour: "",
    state: [],
    view: "",
    width: "",
    per: "",
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
  for (const key of [...TEXTS, ...COMPARE]) state[key] = query.get(key) ?? "";
  for (const key of LISTS) state[key] = query.getAll(key);
  for (const key of NUMBERS) state[key] = natural(query.get(key) ?? "");
  // Older addresses have labels here: what they opened is closed.
  state.open = state.open.filter(id => ID.test(id) || id === "none");
  for (const key of [...PARTS, "named"]) state[key] = [...new Set(state[key])];
  return state;
}

/** @param {State} state @returns {string} its address: parse(href(s)) is s */
export function href(state) {
  const query = new URLSearchParams();
  for (const key of [...TEXTS, ...COMPARE]) if (state[key]) query.set(key, state[key]);
  for (const key of LISTS) for (const value of state[key]) query.append(key, value);
  for (const key of NUMBERS) if (state[key]) query.set(key, String(state[key]));
  const text = query.toString();
  return mark + (state.page === "overview" ? "/" : "/" + state.page) + (text ? "?" + text : "");
}

/** The same page with a change. A table starts at its first row again and a search without a match
 * that is looked at, unless `change` says where.
 * @param {State} state @param {Partial<State>} change @returns {State} */
export function changed(state, change) {
  return {...state, offset: 0, match: 0, ...change};
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
  return next;
}

/** The parameters that name the path that is looked at. What the filters or another file took away
 * of it is left out by the server, which answers about the rest.
 * @param {State} state */
export function place(state) {
  return {path: state.path, at: state.path ? [] : state.at, nearest: "true"};
}

/** The state of what was answered, by the path that the answer is about.
 * @param {State} state @param {{at: {id: string|null}}} answer @returns {State} */
export function settled(state, answer) {
  return {...state, path: answer.at.id ?? "", at: []};
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
  return allParts(state).length > 0 || Boolean(state.slices);
}

/** The parameters that every question of the API takes.
 * @param {State} state @param {Record<string, string|number|string[]|undefined>} more
 * @returns {URLSearchParams} */
export function question(state, more = {}) {
  const query = chosen(state);
  if (state.metric) query.set("metric", state.metric);
  for (const {kind, value} of allParts(state)) query.append(kind, value);
  for (const key of TIMES) if (state[key]) query.set(key, state[key]);
  if (state.side) query.set("side", state.side);
  for (const [key, value] of Object.entries(more)) {
    if (value === undefined || value === "") continue;
    for (const one of [value].flat()) query.append(key, String(one));
  }
  return query;
}
