#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Takes new screenshots for the documents: tools/pictures.mjs BUILD [WORD...]
//
// With words, only those that have one of them in their names.
//
// Records the game of life as `make run` does, follows the tutorials, opens the viewer in the system's Chromium, and
// writes docs/pictures. Run it when the viewer looks different, after `tools/bootstrap test`. The scale factor is above
// 1 because pages show the pictures smaller than they are.

import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "..");
const build = path.resolve(process.argv[2] ?? "build");
const {browser, folder, run, view} = await import(path.join(root, "tests/web/support.js"));
const life = path.join(root, "hosts/fble/bench/programs/Life.fble");
const WIDTH = 1080;

// The paths in the pictures are the ones that the tutorial's commands give.
process.env.FBLE_PACKAGE_PATH = "packages";
fs.symlinkSync(path.join(build, "packages"), path.join(folder, "packages"));
fs.copyFileSync(life, path.join(folder, "Life.fble"));
const metrics = ["--profile-metrics", "instructions,time,objects"];
run(path.join(build, "fble"), "run", "--profile", "life.pb.gz", ...metrics, "-p", "std", "Life.fble", "--", "60");

/** Runs the commands of a tutorial in a folder of its own, which gets its profiles. @param {string} page */
function follow(page) {
  const text = fs.readFileSync(path.join(root, "docs", page + ".md"), "utf8");
  const commands = [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(block => block[1]);
  const own = path.join(folder, page);
  fs.mkdirSync(own);
  fs.symlinkSync(build, path.join(own, "build"));
  fs.symlinkSync(path.join(root, "hosts"), path.join(own, "hosts"));
  fs.symlinkSync(path.join(build, "packages"), path.join(own, "packages"));
  execFileSync("sh", ["-ec", commands.join("")], {cwd: own, stdio: "ignore"});
}
["tutorial", "tutorial-python", "tutorial-lua", "tutorial-c"].forEach(follow);

// `of` is the folder that the files are from.
const before = ["before.pb.gz"],
  both = ["before.pb.gz", "after.pb.gz"],
  changed = "/compare?view=flame&metric=calls",
  counted = "metric=instructions";
const PICTURES = [
  {name: "life-overview", files: ["life.pb.gz"], page: "/", height: 900},
  {name: "life-flame-dark", files: ["life.pb.gz"], page: "/flame", height: 600, theme: "dark"},
  {name: "tutorial-overview", of: "tutorial", files: before, page: "/", height: 860},
  {name: "tutorial-block", of: "tutorial", files: before, page: "/block?block=%2FLife%25.Wrap", height: 700},
  {name: "tutorial-compare", of: "tutorial", files: both, page: "/compare", height: 640},
  {name: "tutorial-python-flame", of: "tutorial-python", files: before, page: "/flame?metric=calls", height: 560},
  {name: "tutorial-python-compare", of: "tutorial-python", files: both, page: changed, height: 600},
  {name: "tutorial-lua-recursion", of: "tutorial-lua", files: before, page: "/recursion?" + counted, height: 640},
  {name: "tutorial-lua-compare", of: "tutorial-lua", files: both, page: "/compare?" + counted, height: 640},
  {name: "tutorial-c-flame", of: "tutorial-c", files: before, page: "/flame?metric=calls", height: 440},
  {name: "tutorial-c-compare", of: "tutorial-c", files: both, page: changed, height: 540},
];
// A store with the last hours of a fleet, which is the same for every time that it is filled.
run(path.join(root, "tools/fleet-demo"), build, "--fill", "fleet.db");
const store = ["--store", "fleet.db"];
PICTURES.push({name: "fleet", files: [], options: store, page: "/fleet", height: 860});
const chromium = await browser();
const words = process.argv.slice(3);
for (const {name, of, files, options, page, height, theme = "light"} of PICTURES) {
  if (words.length > 0 && !words.some(word => name.includes(word))) continue;
  // The pages show the names of the files as they are given.
  if (of) files.forEach(file => fs.copyFileSync(path.join(folder, of, file), path.join(folder, file)));
  const server = await view(files, options);
  const context = await chromium.newContext({
    viewport: {width: WIDTH, height},
    deviceScaleFactor: 1.5,
    colorScheme: theme,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  await context.addInitScript(() => localStorage.setItem("ouro-hints", "off"));
  const tab = await context.newPage();
  await tab.goto(server.url + page, {waitUntil: "networkidle"});
  await tab.screenshot({path: path.join(root, "docs/pictures", name + ".png"), animations: "disabled"});
  await context.close();
  await server.stop();
}
await chromium.close();
fs.rmSync(folder, {recursive: true});
