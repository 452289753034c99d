// SPDX-License-Identifier: MIT
//
// A file that was made with filters, or made small, says so on every page: a part must not read as
// the whole.

import {amount, count, percent} from "../model/format.js";
import {fill, h} from "./dom.js";

/** @param {any} file @param {string} metric @returns {(Node|string)[]} sentences */
function sentences(file, metric) {
  const {part, metrics, node_count: paths} = file;
  const i = Math.max(
    0,
    metrics.findIndex(m => m.name === metric),
  );
  const {total, unit, decimals} = metrics[i] ?? {};
  const filters = part.filters.flatMap((filter, at) => [at ? ", " : "", h("bdi", null, filter)]);
  return [
    ...(filters.length
      ? [
          h("strong", null, "A part of the profile: "),
          ...filters,
          `. It has ${amount(part.left[i], unit, decimals, total)} of `,
          `${amount(total, unit, decimals)} (${percent(part.left[i], total)}); `,
          "percentages are of the whole. ",
        ]
      : []),
    ...(part.cut
      ? [
          h("strong", null, "Made small: "),
          `the ${count(part.cut)} smallest of ${count(part.paths)} paths are in [pruned]; `,
          `${count(paths)} are here. All totals are exact.`,
        ]
      : []),
  ];
}

/** @param {import("../main.js").App} app @param {import("../model/url.js").State} state */
export function showPart(app, state) {
  const place = document.getElementById("part");
  const {file} = app;
  place.hidden = !file.part;
  fill(place, file.part ? sentences(file, state.metric || file.default_metric) : []);
}
