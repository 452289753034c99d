#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Takes new screenshots for the documents: tools/pictures.mjs BUILD
//
// Records the game of life as `make run` and the tutorial do, opens the viewer in the system's Chromium, headless, and
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
function record(profile, ...options) {
  run(path.join(build, "fble"), "run", "--profile", profile, ...options, "-p", "std", "Life.fble", "--", "60");
}
fs.copyFileSync(life, path.join(folder, "Life.fble"));
record("life.pb.gz", "--profile-metrics", "instructions,time,objects");
const tutorial = fs.readFileSync(path.join(root, "docs/tutorial.md"), "utf8");
const mend = tutorial.match(/^sed -i [^]*?Life\.fble$/m)[0];
record("before.pb.gz");
execFileSync("sh", ["-ec", mend], {cwd: folder});
record("after.pb.gz");

const PICTURES = [
  {name: "life-overview", files: ["life.pb.gz"], page: "/", height: 900, theme: "light"},
  {name: "life-flame-dark", files: ["life.pb.gz"], page: "/flame", height: 600, theme: "dark"},
  {name: "tutorial-overview", files: ["before.pb.gz"], page: "/", height: 860, theme: "light"},
  {name: "tutorial-block", files: ["before.pb.gz"], page: "/block?block=%2FLife%25.Wrap", height: 700, theme: "light"},
  {name: "tutorial-compare", files: ["before.pb.gz", "after.pb.gz"], page: "/compare", height: 640, theme: "light"},
];
// A store with the last hours of a fleet, which is the same for every time that it is filled.
run(path.join(root, "tools/fleet-demo"), build, "--fill", "fleet.db");
const store = ["--store", "fleet.db"];
PICTURES.push({name: "fleet", files: [], options: store, page: "/fleet", height: 860, theme: "light"});
const chromium = await browser();
for (const {name, files, options, page, height, theme} of PICTURES) {
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
