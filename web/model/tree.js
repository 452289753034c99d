// SPDX-License-Identifier: MIT
//
// The call tree as rows of one table: which paths are open, and the order of their levels. Loops
// with a stack of their own, because a tree may be deep.

const BETWEEN = "\u001f";
const AT_ONCE = 40; // open paths at most, because they are part of the address

/** @param {string[]} path @param {string[]} whole */
export function leadsTo(path, whole) {
  return path.length <= whole.length && path.every((label, i) => label === whole[i]);
}

/** @param {string[]} path */
export function keyOf(path) {
  return path.join(BETWEEN);
}

/** Opens one more path. Only the ends are kept: the paths that lead there are open, too.
 * @param {string[][]} open @param {string[]} path */
export function opened(open, path) {
  return [...open.filter(other => !leadsTo(other, path)), path].slice(-AT_ONCE);
}

/** Opens a closed path, closes an open one. @param {string[][]} open @param {string[]} path */
export function toggled(open, path) {
  if (!open.some(other => leadsTo(path, other))) return opened(open, path);
  const rest = open.filter(other => !leadsTo(path, other));
  const above = path.slice(0, -1);
  const isKept = above.length > 0 && !rest.some(other => leadsTo(above, other));
  return isKept ? [...rest, above] : rest;
}

/** Every path whose callees are shown: the open paths and their prefixes.
 * @param {string[]} at top of the table @param {string[][]} open @returns {string[][]} */
export function levels(at, open) {
  const found = new Map();
  for (const path of open) {
    if (!leadsTo(at, path)) continue;
    for (let n = at.length + 1; n <= path.length; n++)
      found.set(keyOf(path.slice(0, n)), path.slice(0, n));
  }
  return [...found.values()];
}

/**
 * Rows of all levels in the order of the table, each with `found` (its block), `path`, `level` and
 * `isOpen`. A row with `hidden` stands for callees that were not asked for.
 * @param {string[]} at
 * @param {any} first answer for the top
 * @param {Map<string, any>} below answers by keyOf(path)
 */
export function flatten(at, first, below) {
  const rows = [];
  const level = (answer, path) =>
    answer.rows.map(row => {
      const found = answer.blocks[row.block];
      return {
        ...row,
        found,
        path: [...path, found.label ?? ""],
        level: path.length - at.length,
        isOpen: false,
        hidden: 0,
      };
    });
  const stack = level(first, at).reverse();
  while (stack.length) {
    const row = stack.pop();
    rows.push(row);
    const answer = row.hidden ? null : below.get(keyOf(row.path));
    if (!answer) continue;
    row.isOpen = true;
    const hidden = answer.count - answer.rows.length;
    if (hidden > 0) stack.push({hidden, path: row.path, level: row.level + 1});
    stack.push(...level(answer, row.path).reverse());
  }
  return rows;
}
