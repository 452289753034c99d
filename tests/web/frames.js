// SPDX-License-Identifier: MIT
//
// A pprof file with slices, made by hand, so that every number can be worked out: 200 frames of some
// 10 ms, of which every fiftieth takes 60 ms because it collects garbage. The trees of 12 are kept.

import fs from "node:fs";
import path from "node:path";
import {folder} from "./support.js";

const MS = 1_000_000;
const START = 5 * MS;

/** @typedef {{n: number, start: number, duration: number, slow: boolean}} Frame */

/** @returns {Frame[]} */
export function frames() {
  let start = START;
  return Array.from({length: 200}, (_, i) => {
    const n = i + 1;
    const slow = n % 50 === 0;
    const duration = slow ? 60 * MS + n * 1000 : 10 * MS + (n % 7) * 100_000;
    const frame = {n, start, duration, slow};
    start += duration;
    return frame;
  });
}

/** Why a tree is kept: 1 slowest, 2 last, 4 evenly. */
export const KEPT = {50: 1, 100: 1, 150: 1, 200: 3, 197: 2, 198: 2, 199: 2, 10: 4, 30: 4, 70: 4, 110: 4, 160: 4};
const KINDS = {1: "slowest", 2: "last", 4: "evenly"};

function varint(value) {
  const bytes = [];
  let n = BigInt(value);
  for (; n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  bytes.push(Number(n));
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const message = (field, body) => Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
const list = (field, values) => message(field, Buffer.concat(values.map(varint)));

/** Pairs of a step and a count. @param {number} field @param {Map<number, number>} counts */
function counted(field, counts) {
  let before = 0;
  return list(
    field,
    [...counts]
      .sort(([a], [b]) => a - b)
      .flatMap(([at, count]) => {
        const pair = [at - before, count];
        before = at;
        return pair;
      }),
  );
}

/** @param {number} value @returns {number} the last power of two that is not above it */
function powerOf(value) {
  let power = 0;
  while (2 ** (power + 1) <= value) power++;
  return power;
}
const bucket = value =>
  value < 128 ? value : (powerOf(value) - 7) * 128 + Math.floor(value / 2 ** (powerOf(value) - 7));
const row = value => (powerOf(value) - 8) * 4 + (Math.floor(value / 2 ** (powerOf(value) - 2)) & 3);

/** What is kept of the slices. @param {Frame[]} all @param {string} name */
function summary(all, name) {
  const durations = new Map(),
    heat = new Map();
  const step = 2 ** 26;
  for (const {start, duration} of all) {
    const cell = Math.floor((start - START) / step) * 128 + row(duration);
    durations.set(bucket(duration), (durations.get(bucket(duration)) ?? 0) + 1);
    heat.set(cell, (heat.get(cell) ?? 0) + 1);
  }
  const table = all.flatMap(({n, duration, slow}) => [n === 1 ? START : 0, duration, 3, 0, 0, slow ? 6100 : 1100]);
  const kept = all
    .filter(({n}) => KEPT[n])
    .map(({n, start, duration, slow}) =>
      message(
        14,
        Buffer.concat([
          list(1, [n, start, duration, KEPT[n]]),
          list(2, [3, 0, 0, slow ? 6100 : 1100]),
          list(3, [0, 0, 0, 0]),
        ]),
      ),
    );
  return Buffer.concat([
    number(1, 0),
    message(2, Buffer.from(name)),
    number(3, 0),
    number(4, all.length),
    number(5, Math.max(...all.map(({duration}) => duration))),
    list(6, [0, 0, 0, 0]),
    list(8, table),
    counted(9, durations),
    counted(11, heat),
    number(12, START),
    number(13, step),
    ...kept,
  ]);
}

/** The file. @param {string} [name] of one slice @param {string} [file] @returns {string} its path */
export function sliced(name = "frame", file = "frames.pb") {
  const strings = new Map([["", 0]]);
  const s = text => strings.get(text) ?? (strings.set(text, strings.size), strings.size - 1);
  const blocks = ["main", "draw", "think", "collect"];
  const all = frames();
  const parts = [];
  for (const type of ["calls", "recursions", "direct", "time"]) {
    const unit = type === "time" ? "nanoseconds" : "count";
    parts.push(message(1, Buffer.concat([number(1, s(type)), number(2, s(unit))])));
  }
  for (const {n, duration, slow} of all) {
    const labels = KEPT[n]
      ? [
          ["slice", String(n)],
          ["slice_duration", `${duration} nanoseconds`],
          ...Object.keys(KINDS)
            .filter(kind => KEPT[n] & Number(kind))
            .map(kind => ["slice_kind", KINDS[kind]]),
        ]
      : [];
    const amounts = {2: 1000, 3: 100, ...(slow ? {4: 5000} : {})};
    for (const [id, amount] of Object.entries(amounts))
      parts.push(
        message(
          2,
          Buffer.concat([
            list(1, [Number(id), 1]),
            list(2, [1, 0, 0, amount]),
            ...labels.map(([key, value]) => message(3, Buffer.concat([number(1, s(key)), number(2, s(value))]))),
          ]),
        ),
      );
  }
  blocks.forEach((block, i) => {
    const line = message(4, Buffer.concat([number(1, i + 1), number(2, 7)]));
    const where = [number(2, s(block)), number(4, s("game.x")), number(5, 3)];
    parts.push(message(4, Buffer.concat([number(1, i + 1), line])));
    parts.push(message(5, Buffer.concat([number(1, i + 1), ...where])));
  });
  parts.push(...[...strings.keys()].map(text => message(6, Buffer.from(text))));
  parts.push(message(1000, summary(all, name)));
  const to = path.join(folder, file);
  fs.writeFileSync(to + ".new", Buffer.concat(parts));
  fs.renameSync(to + ".new", to);
  return to;
}
