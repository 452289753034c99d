// SPDX-License-Identifier: MIT
//
// The profiles of the tests in a browser: one of a real program (the bytecode example), a few that are written here so
// that every number on a page can be worked out by hand, and odd ones.

import path from "node:path";
import {build, ouro, run, write} from "./support.js";

/** Folded stacks with a dispatch function in the middle. In all: 100. */
export const DISPATCH = `main;run;dispatch;add 30
main;run;dispatch;mul 20
main;run;dispatch;call;run;dispatch;add 25
main;run;dispatch 5
main;run;gc 8
main;setup 12
`;
export const dispatch = () => write("dispatch.folded", DISPATCH);
/** add is faster, gc is gone, mul is slower, sweep is new. In all: 100 before, 98 after. */
export const after = () =>
  write(
    "after.folded",
    DISPATCH.replace("add 30", "add 10")
      .replace("mul 20", "mul 33")
      .replace("run;gc 8", "run;sweep 13"),
  );

/** Made once: a server of another case may be reading it. */
let ran = false;
export function bytecode() {
  if (!ran) run(path.join(build, "examples", "bytecode"), "bytecode.pb");
  ran = true;
  return "bytecode.pb";
}

/** Names and files that try to be something else than text. */
export const EVIL = [
  "<img src=x onerror=window.evil=1>",
  '"><script>window.evil=1</script>',
  "javascript:window.evil=1",
  "'-window.evil-'",
  "&lt;b&gt;",
  "../../../etc/passwd",
  "a?b#c&d=e",
  "+ %41%",
  "__proto__",
  "constructor",
  " ",
];
export const SCRIPTS = [
  "名前の関数",
  "دالة عربية",
  "פונקציה",
  "\u202egnp.exe",
  "🙂🙃",
  "operator<<(std::ostream&, T const&)",
  "x".repeat(5000),
];

/**
 * @param {string} name
 * @param {{name: string, file?: string, line?: number}[]} frames
 * @param {number[][]} samples
 * @param {number[]} weights
 */
export function speedscope(name, frames, samples, weights) {
  return write(
    name,
    JSON.stringify({
      $schema: "https://www.speedscope.app/file-format-schema.json",
      shared: {frames},
      profiles: [
        {
          type: "sampled",
          name,
          unit: "milliseconds",
          startValue: 0,
          endValue: weights.reduce((a, b) => a + b, 0),
          samples,
          weights,
        },
      ],
    }),
  );
}

export function names() {
  const frames = [...EVIL, ...SCRIPTS, "[pruned]", "(folded)"].map((name, i) => ({
    name,
    file: i % 2 ? `<b>${i}</b>.c` : "שלום/ملف.c",
    line: i + 1,
  }));
  const each = frames.map((_, i) => (i ? [0, i] : [0]));
  const samples = [...each, frames.map((_, i) => i), [0, 11, 12, 11, 12, 11], [0, 17, 17, 17]];
  return speedscope(
    "names.speedscope.json",
    frames,
    samples,
    samples.map((_, i) => i + 1),
  );
}

/** A program whose source is beside it, and one file that is not. */
export function withSource() {
  write(
    "program.x",
    Array.from({length: 900}, (_, i) => `line ${i + 1} <b>of</b> the program`).join("\n") + "\n",
  );
  const frames = [
    {name: "main", file: "program.x", line: 3},
    {name: "work", file: "program.x", line: 700},
    {name: "outside", file: "/etc/passwd", line: 1},
    {name: "nowhere", file: "not-there.x", line: 4},
    {name: "short", file: "short.x", line: 300},
  ];
  write("short.x", "x\n".repeat(500));
  return speedscope(
    "source.speedscope.json",
    frames,
    [[0], [0, 1], [0, 1, 2], [0, 3], [0, 4]],
    [10, 60, 20, 9, 1],
  );
}

export function wide() {
  let text = "";
  for (let i = 0; i < 50000; i++) text += `main;group${i % 50};block_${i} ${50000 - i}\n`;
  return write("wide.folded", text);
}

export const zero = () => write("zero.folded", "a;b 0\na;c 0\n");
export const one = () => write("one.folded", "only 7\n");
export const negative = () => write("negative.folded", "a;b -5\na;c 9\n");
export const deep = () =>
  write("deep.folded", Array.from({length: 3000}, (_, i) => "f" + i).join(";") + " 5\nf0;g 7\n");

/** So deep that nothing of a path can be in an address. In all: 12. */
export const deepest = () =>
  write(
    "deepest.folded",
    Array.from({length: 100_000}, (_, i) => "f" + i).join(";") + " 5\nf0;g 7\n",
  );

/** A profile of two metrics of which one is nothing. */
export function halfZero() {
  write("two.folded", "main;a 10 0\nmain;b 5 0\n");
  run(ouro, "convert", "two.folded", "two.pb");
  return "two.pb";
}
