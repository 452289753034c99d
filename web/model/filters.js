// SPDX-License-Identifier: MIT
//
// Filters as a whole: their parts, sets of them that have a name, and what undo goes back to. A named
// set is one parameter of the address that holds its name and its parts, so a copied link shows the
// name too. Nothing here touches the DOM.

import {PARTS, changed} from "./url.js";

// They are a filter, too.
const SLICES = /** @type {const} */ (["slices", "against"]);

/** @typedef {import("./url.js").State} State */
/** @typedef {{kind: string, value: string}} Part */

/** @param {Partial<State>} state @returns {Part[]} the parts that are in no named set */
export function looseParts(state) {
  return PARTS.flatMap(kind => (state[kind] ?? []).map(value => ({kind, value})));
}

/** @param {string} text a `named` parameter @returns {{name: string, parts: Part[]}} */
export function readNamed(text) {
  const query = new URLSearchParams(text);
  const parts = PARTS.flatMap(kind => query.getAll(kind).map(value => ({kind, value})));
  return {name: query.get("name") || "unnamed", parts};
}

/** @param {string} name @param {Part[]} parts @returns {string} */
export function writeNamed(name, parts) {
  const query = new URLSearchParams({name});
  for (const {kind, value} of parts) query.append(kind, value);
  return query.toString();
}

/** All parts that apply, those of named sets too, each once. @param {State} state @returns {Part[]} */
export function allParts(state) {
  const seen = new Set();
  const all = [...looseParts(state), ...state.named.flatMap(text => readNamed(text).parts)];
  return all.filter(({kind, value}) => {
    const key = kind + " " + value;
    return !seen.has(key) && Boolean(seen.add(key));
  });
}

/** @returns {Partial<State>} what a state without filters has */
export function noFilters() {
  return {...Object.fromEntries(PARTS.map(kind => [kind, []])), named: [], slices: "", against: ""};
}

/** @param {Part[]} parts @returns {Partial<State>} */
function listsOf(parts) {
  const lists = Object.fromEntries(PARTS.map(kind => [kind, []]));
  for (const {kind, value} of parts) if (!lists[kind].includes(value)) lists[kind].push(value);
  return lists;
}

/** @param {State} state @param {Part} part @returns {State} */
export function withPart(state, {kind, value}) {
  return changed(state, {[kind]: [...new Set([...state[kind], value])], rows: 0, open: []});
}

/** @param {State} state @param {Part} part @returns {State} */
export function withoutPart(state, {kind, value}) {
  return changed(state, {[kind]: state[kind].filter(other => other !== value)});
}

/** The loose parts become a named set. @param {State} state @param {string} name @returns {State} */
export function named(state, name) {
  const text = writeNamed(name, looseParts(state));
  const {slices, against} = state;
  return changed(state, {...noFilters(), slices, against, named: [...state.named, text]});
}

/** The parts of a named set become loose again. @param {State} state @param {string} text @returns {State} */
export function unnamed(state, text) {
  const parts = [...looseParts(state), ...readNamed(text).parts];
  return changed(state, {...listsOf(parts), named: state.named.filter(other => other !== text)});
}

/** @param {State} state @param {string} text @returns {State} without the named set */
export function withoutNamed(state, text) {
  return changed(state, {named: state.named.filter(other => other !== text)});
}

/** Everything that filters, as a text to compare and to go back to. @param {State} state */
export function filterText(state) {
  const query = new URLSearchParams();
  for (const {kind, value} of looseParts(state)) query.append(kind, value);
  for (const text of state.named) query.append("named", text);
  for (const key of SLICES) if (state[key]) query.set(key, state[key]);
  return query.toString();
}

/** The same page with other filters. @param {State} state @param {string} text of filterText @returns {State} */
export function withFilters(state, text) {
  const query = new URLSearchParams(text);
  const lists = Object.fromEntries(PARTS.map(kind => [kind, query.getAll(kind)]));
  const slices = Object.fromEntries(SLICES.map(key => [key, query.get(key) ?? ""]));
  return changed(state, {...lists, ...slices, named: query.getAll("named"), rows: 0, open: []});
}

/** @param {string} label KEY=VALUE or KEY!=VALUE @returns {{key: string, value: string, without: boolean}} */
export function readLabel(label) {
  const [, key, sign, value] = /^(.*?)(!?=)([^]*)$/.exec(label) ?? ["", label, "=", ""];
  return {key, value, without: sign === "!="};
}

/** @param {string} label @returns {string} for people */
export function labelText(label) {
  const {key, value, without} = readLabel(label);
  if (!value) return without ? `with ${key}` : `without ${key}`;
  return `${key} ${without ? "≠" : "="} ${value}`;
}

/** @param {string} text @returns {string|null} the regular expression that was typed: /like this/ */
export function typedExpression(text) {
  return /^\/[^]+\/$/.test(text) ? text.slice(1, -1) : null;
}
