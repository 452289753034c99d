// SPDX-License-Identifier: MIT
//
// Which metrics a page can show. A page shows those of its file; the comparison those that both
// files have, in the same unit, because other amounts cannot be compared. The server chooses by
// the same rule when it is not asked for one.

/**
 * @typedef {{name: string, unit: string}} Metric
 * @typedef {{metrics: Metric[], default_metric: string}} File
 * @typedef {{name: string, reason: string}} Choice reason: why it cannot be chosen, "" if it can
 */

/**
 * @param {Metric|undefined} before
 * @param {Metric|undefined} after
 */
function reasonOf(before, after) {
  if (!after) return "only before";
  if (!before) return "only after";
  return before.unit === after.unit ? "" : `${before.unit} before, ${after.unit} after`;
}

/**
 * All metrics that the page could offer, in the order of its file, or of both files.
 * @param {{files: File[]}} profile
 * @param {{page: string, side: string}} state
 * @returns {Choice[]}
 */
export function choices(profile, state) {
  const [before, after] = profile.files;
  if (state.page !== "compare" || !after)
    return fileOf(profile, state).metrics.map(({name}) => ({name, reason: ""}));
  const find = (file, name) => file.metrics.find(metric => metric.name === name);
  const names = [...before.metrics, ...after.metrics].map(metric => metric.name);
  return [...new Set(names)].map(name => ({
    name,
    reason: reasonOf(find(before, name), find(after, name)),
  }));
}

/** @param {{files: File[]}} profile @param {{side: string}} state */
function fileOf(profile, state) {
  return profile.files[state.side === "after" ? 1 : 0] ?? profile.files[0];
}

/**
 * The metric that a page shows if the address names none; "" if there is none to show.
 * @param {{files: File[]}} profile
 * @param {{page: string, side: string}} state
 */
export function usual(profile, state) {
  const open = choices(profile, state).filter(choice => !choice.reason);
  const own = (state.page === "compare" ? profile.files[0] : fileOf(profile, state)).default_metric;
  return (open.find(choice => choice.name === own) ?? open[0])?.name ?? "";
}

/**
 * What the page shows for the metric of its address. `instead` says why it is another one.
 * @param {{files: File[]}} profile
 * @param {{page: string, side: string, metric: string}} state
 * @returns {{metric: string, instead: string}}
 */
export function shownMetric(profile, state) {
  const own = usual(profile, state);
  if (!state.metric) return {metric: own, instead: ""};
  const asked = choices(profile, state).find(choice => choice.name === state.metric);
  if (asked && !asked.reason) return {metric: asked.name, instead: ""};
  const where = profile.files.length < 2 || state.page === "compare" ? "" : " on this side";
  const why = asked
    ? `${asked.name} cannot be compared (${asked.reason})`
    : `There is no metric ${state.metric}${where}`;
  return {metric: own, instead: own ? `${why}. This is ${own}.` : `${why}.`};
}

/**
 * The metric as an address says it: nothing if every page shows it anyway.
 * @param {{files: File[]}} profile
 * @param {{page: string, side: string}} state
 * @param {string} name
 */
export function inAddress(profile, state, name) {
  const shown = name === usual(profile, state);
  return shown && profile.files.every(file => file.default_metric === name) ? "" : name;
}
