// SPDX-License-Identifier: MIT
//
// A graph in layers, read from left to right: callers, the block, callees. As much as possible flows
// forward. Within a layer, boxes stand near what they are connected with, and an arrow that passes a
// layer has a place of its own there, so that it does not run behind a box.
//
// This is how layered drawings are made since Sugiyama: break circles, number the layers, order each
// layer by the mean place of the neighbours, give places. There are at most some dozens of boxes.

import {arrowAlong, fitted, loopAt, portsOf, round, thickness} from "./graph.js";

const HEIGHT = 40, // of a box
  PASSING = 12, // of the place of an arrow that passes
  BETWEEN = 12, // boxes of a layer
  NARROWEST = 112,
  WIDEST = 236,
  LEAST_GAP = 36, // between layers
  MOST_GAP = 150,
  MARGIN = 6,
  AROUND = 44, // room for arrows that lead back
  FARTHEST = 4, // layers on a side
  SWEEPS = 6;

/** @typedef {import("./graph.js").Edge} Edge */

/**
 * Which arrows flow forward: the strongest first, each unless it closes a circle.
 * @param {number} count of boxes
 * @param {Edge[]} edges
 * @returns {Edge[]}
 */
export function withoutCircles(count, edges) {
  /** @type {number[][]} */
  const after = Array.from({length: count}, () => []);
  const leads = (from, to) => {
    const seen = new Set([from]);
    const open = [from];
    while (open.length) {
      const here = open.pop();
      if (here === to) return true;
      for (const next of after[here])
        if (!seen.has(next)) {
          seen.add(next);
          open.push(next);
        }
    }
    return false;
  };
  return [...edges]
    .sort((a, b) => b.value - a.value)
    .filter(({from, to}) => {
      if (leads(to, from)) return false;
      after[from].push(to);
      return true;
    });
}

/**
 * The layer of each box: the block's is 0, callers are before what they call, callees after what
 * calls them.
 * @param {number[]} sides below 0: a caller; 0: the block; above 0: a callee
 * @param {Edge[]} edges
 * @returns {number[]}
 */
export function layersOf(sides, edges) {
  const layers = sides.map(side => Math.sign(side));
  const callers = withoutCircles(sides.length, edges.filter(e => sides[e.from] < 0 && sides[e.to] <= 0));
  const callees = withoutCircles(sides.length, edges.filter(e => sides[e.from] >= 0 && sides[e.to] > 0));
  // There are no circles, so this ends, at the latest after as many rounds as there are boxes.
  for (let round = 0, moved = true; moved && round < sides.length; round++) {
    moved = false;
    const move = (box, layer) => {
      moved = true;
      layers[box] = layer;
    };
    for (const {from, to} of callers)
      if (layers[from] >= layers[to] && layers[from] > -FARTHEST)
        move(from, Math.max(-FARTHEST, layers[to] - 1));
    for (const {from, to} of callees)
      if (layers[to] <= layers[from] && layers[to] < FARTHEST)
        move(to, Math.min(FARTHEST, layers[from] + 1));
  }
  return layers;
}

/**
 * Boxes, and the places of arrows that pass, as one list with links from layer to layer.
 * @param {number[]} layers
 * @param {Edge[]} edges
 */
function chained(layers, edges) {
  const at = [...layers];
  /** @type {number[][]} by edge: its boxes and what it passes, in order; empty if it leads back */
  const chains = edges.map(({from, to}) => {
    if (layers[to] <= layers[from]) return [];
    const chain = [from];
    for (let layer = layers[from] + 1; layer < layers[to]; layer++) chain.push(at.push(layer) - 1);
    return [...chain, to];
  });
  const links = chains.flatMap((chain, i) =>
    chain.slice(1).map((to, j) => ({from: chain[j], to, value: Math.max(edges[i].value, 1e-9)})),
  );
  return {at, chains, links};
}

/**
 * The order within each layer, from the top: by the mean place of the neighbours, again and again.
 * @param {number[]} at the layer of each place
 * @param {Edge[]} links
 * @returns {number[][]} by layer from the left
 */
export function orderOf(at, links) {
  const numbers = [...new Set(at)].sort((a, b) => a - b);
  const columns = numbers.map(n => at.map((_, i) => i).filter(i => at[i] === n));
  const place = new Map();
  const settle = column => column.forEach((one, i) => place.set(one, (i + 0.5) / column.length));
  columns.forEach(settle);
  const wish = one => {
    let sum = 0,
      weight = 0;
    for (const {from, to, value} of links) {
      if (from !== one && to !== one) continue;
      sum += place.get(from === one ? to : from) * value;
      weight += value;
    }
    return weight ? sum / weight : place.get(one);
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const wishes = new Map(column.map(one => [one, wish(one)]));
      column.sort((a, b) => wishes.get(a) - wishes.get(b) || a - b);
      settle(column);
    }
  }
  return columns;
}

/** @param {number} room @param {number} layers @param {number} margin */
function columnsIn(room, layers, margin) {
  const gaps = layers - 1;
  const w = Math.max(NARROWEST, Math.min(WIDEST, (room - 2 * margin - gaps * LEAST_GAP) / layers));
  const free = gaps ? (room - 2 * margin - layers * w) / gaps : 0;
  const gap = Math.max(LEAST_GAP, Math.min(MOST_GAP, free));
  return {w, gap, width: Math.max(room, 2 * margin + layers * w + gaps * gap)};
}

/**
 * @param {number[]} sides of each box, as in layersOf
 * @param {Edge[]} edges
 * @param {number} room width that there is; the drawing is wider if that is too little
 * @returns {import("./graph.js").Drawing}
 */
export function inLayers(sides, edges, room) {
  const layers = layersOf(sides, edges);
  const {at, chains, links} = chained(layers, edges);
  const columns = orderOf(at, links);
  const isBack = edges.some((_, i) => !chains[i].length);
  const {w, gap, width} = columnsIn(room, columns.length, isBack ? AROUND : MARGIN);
  const tall = one => (one < sides.length ? HEIGHT : PASSING);
  const heights = columns.map(column => column.reduce((sum, one) => sum + tall(one) + BETWEEN, 0));
  const height = Math.max(...heights) - BETWEEN + 2 * (isBack ? AROUND / 2 : MARGIN);
  const left = (width - columns.length * w - (columns.length - 1) * gap) / 2;
  /** @type {import("./graph.js").Box[]} */
  const boxes = at.map((_, one) => ({x: 0, y: 0, w, h: tall(one)}));
  columns.forEach((column, c) => {
    let y = (height - (heights[c] - BETWEEN)) / 2;
    for (const one of column) {
      boxes[one].x = left + c * (w + gap);
      boxes[one].y = y;
      y += tall(one) + BETWEEN;
    }
  });
  const arrows = arrowsOf(edges, chains, boxes);
  return {width, height, boxes: boxes.slice(0, sides.length), arrows};
}

/**
 * @param {Edge[]} edges
 * @param {number[][]} chains
 * @param {import("./graph.js").Box[]} boxes
 * @returns {import("./graph.js").Arrow[]}
 */
function arrowsOf(edges, chains, boxes) {
  const most = Math.max(0, ...edges.map(edge => edge.value));
  const widths = edges.map((edge, i) => {
    const full = thickness(edge.value, most);
    return chains[i].length ? full : Math.min(full, 3);
  });
  const ends = fitted(
    edges.flatMap(({from, to}, i) => [
      {box: from, side: /** @type {1} */ (1), other: chains[i][1] ?? to, width: widths[i]},
      {box: to, side: /** @type {-1} */ (-1), other: chains[i].at(-2) ?? from, width: widths[i]},
    ]),
    boxes,
  );
  const heights = portsOf(boxes, ends);
  return edges.map((edge, i) => {
    const {from, to} = edge;
    const {width} = ends[2 * i];
    if (from === to) return {...edge, width, ...loopAt(boxes[from], 1, width), back: true};
    const start = [boxes[from].x + boxes[from].w, heights[2 * i]];
    const end = [boxes[to].x, heights[2 * i + 1]];
    if (chains[i].length) {
      const passed = chains[i].slice(1, -1).map(one => boxes[one]);
      return {...edge, width, ...along(start, passed, end, width), back: false};
    }
    // Back around the boxes, above or below.
    const lift = boxes[to].y < boxes[from].y ? -1 : 1;
    const points = [
      start,
      [start[0] + 50, start[1] + lift * 40],
      [end[0] - 50, end[1] - lift * 40],
      end,
    ];
    return {...edge, width, ...arrowAlong(points, width), back: true};
  });
}

/**
 * From box to box in an S, straight through the places between.
 * @param {number[]} start
 * @param {import("./graph.js").Box[]} passed
 * @param {number[]} end
 * @param {number} width
 */
function along(start, passed, end, width) {
  let line = "";
  let here = start;
  for (const place of passed) {
    const y = place.y + place.h / 2;
    const half = (place.x - here[0]) / 2;
    line +=
      `M${round(here[0])} ${round(here[1])}C${round(here[0] + half)} ${round(here[1])} ` +
      `${round(place.x - half)} ${round(y)} ${round(place.x)} ${round(y)}H${round(place.x + place.w)}`;
    here = [place.x + place.w, y];
  }
  const half = (end[0] - here[0]) / 2;
  const last = arrowAlong([here, [here[0] + half, here[1]], [end[0] - half, end[1]], end], width);
  return {line: line + last.line, head: last.head};
}
