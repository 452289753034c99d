// SPDX-License-Identifier: MIT
//
// What a table shows and what its buttons lead to: columns, direction, how many rows. Rows come from
// the server already sorted and cut; this is the arithmetic around them.

export const FIRST = 100;  // rows that a table has at once
export const MOST = 1000;  // rows that it ever has; the server's limit, too

/**
 * @typedef {{column: string, descending: boolean}} Order
 * @typedef {{offset: number, limit: number}} Window
 */

/** @param {string} sort as in the address @param {string} byDefault the same @returns {Order} */
export function order(sort, byDefault) {
    const text = sort || byDefault;
    return text.startsWith("-") ? {column: text.slice(1), descending: true} : {column: text, descending: false};
}

/** What a click on a heading asks for: numbers start with the largest, texts with A; again turns it.
 * @param {Order} now @param {string} column @param {boolean} isText */
export function nextSort(now, column, isText) {
    const descending = now.column === column ? !now.descending : !isText;
    return (descending ? "-" : "") + column;
}

/** @param {Order} now @param {string} column @returns {"ascending"|"descending"|"none"} */
export function ariaSort(now, column) {
    if (now.column !== column) return "none";
    return now.descending ? "descending" : "ascending";
}

/** @param {{offset: number, rows: number}} state @param {number} first rows at once @returns {Window} */
export function window(state, first = FIRST) {
    return {offset: state.offset, limit: Math.min(MOST, Math.max(1, state.rows || first))};
}

/**
 * What the foot of a table offers.
 * @param {number} count rows there are @param {number} offset @param {number} shown
 * @returns {{from: number, to: number, count: number, more: number, next: number|null, previous: number|null}}
 *   more: rows to show in all if asked for more, 0 if there is nothing or no room; next, previous: offsets
 */
export function foot(count, offset, shown) {
    const end = offset + shown;
    const left = Math.max(0, count - end);
    return {
        from: shown ? offset + 1 : 0,
        to: end,
        count,
        more: left && shown < MOST ? Math.min(MOST, Math.max(shown * 3, FIRST)) : 0,
        next: left && shown >= MOST ? end : null,
        previous: offset > 0 ? Math.max(0, offset - MOST) : null,
    };
}
