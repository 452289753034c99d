// SPDX-License-Identifier: MIT
//
// What every case here stands on, as tests/support/suite.py is for Python: `test` registers a case
// whose name is a sentence, `runAll` runs them. The output is `ok NAME` or `not ok NAME` per case,
// as tools/run_tests counts it, with the reasons of a failure indented below its name, and a
// closing comment. VERBOSE=1 tells how long each case took.

/** A reason that is shown as it is, without a stack. */
export class Failure extends Error {
  /** @param {string} text */
  constructor(text) {
    super(text);
    this.stack = text;
  }
}

/** What a case returns that cannot run here. */
class Skipped {
  /** @param {string} reason */
  constructor(reason) {
    this.reason = reason;
  }
}
export const skipped = reason => new Skipped(reason);

/** @type {Map<string, () => any>} */
const cases = new Map();
const endings = [];

/** @param {string} name @param {() => any} body fails by throwing */
export function test(name, body) {
  if (cases.has(name)) throw new Error(`two cases are called ${name}`);
  cases.set(name, body);
}

/** What is to be closed or removed when all cases are done. @param {() => any} end */
export function atEnd(end) {
  endings.push(end);
}

async function finish() {
  for (const end of endings) await end();
}

const LONGEST = 600_000; // milliseconds of a case; without it one that waits forever stops all

/** @param {() => any} body */
async function atMost(body) {
  let late;
  const over = new Promise((_, reject) => {
    late = setTimeout(() => reject(new Failure(`no end after ${LONGEST / 1000} s`)), LONGEST);
  });
  try {
    return await Promise.race([body(), over]);
  } finally {
    clearTimeout(late);
  }
}

/** @param {string} name @param {() => any} body */
async function passes(name, body) {
  const began = performance.now();
  try {
    const done = await atMost(body);
    if (done instanceof Skipped) {
      console.log(`# ${name} was left out: ${done.reason}`);
      return null;
    }
    const took = process.env.VERBOSE ? ` # ${Math.round(performance.now() - began)} ms` : "";
    console.log(`ok ${name}${took}`);
    return true;
  } catch (error) {
    console.log(`not ok ${name}\n${String(error?.stack ?? error).replace(/^/gm, "    ")}`);
    return false;
  }
}

/**
 * Runs the cases whose names contain one of the words. Two run at a time: a page is waited for most
 * of the time. In a browser that has one focus for all its pages they run one after the other.
 * @param {string[]} words
 * @param {number} [atOnce]
 */
export async function runAll(words, atOnce = 2) {
  const left = [...cases].filter(([name]) => !words.length || words.some(w => name.includes(w)));
  let good = 0,
    bad = 0;
  const work = async () => {
    for (let one = left.shift(); one; one = left.shift()) {
      const passed = await passes(...one);
      if (passed) good++;
      else if (passed === false) bad++;
    }
  };
  await Promise.all(Array.from({length: atOnce}, work));
  await finish();
  console.log(`# ${good} passed, ${bad} failed`);
  process.exitCode = bad || !good ? 1 : 0;
}

for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => finish().then(() => process.exit(1)));
