// SPDX-License-Identifier: MIT
//
// A program with a live file that does one step when it is told to, and a viewer of that file.

import path from "node:path";
import {build, folder, said, start, stop, view} from "./support.js";

/**
 * The program has done one step. `end` leaves the page first: one that still asks a server that is
 * gone has an error on its console.
 * @param {import("playwright-core").Page} page @param {string} name of the file
 */
export async function growing(page, name) {
  const file = path.join(folder, name);
  const program = start(path.join(build, "tests", "web_grow"), [file]);
  let round = 0;
  const step = async () => {
    const answered = said(program, new RegExp(`^${++round}$`, "m"));
    program.stdin.write("go\n");
    await answered;
  };
  await step();
  const server = await view([file]);
  const end = async () => {
    await page.goto("about:blank");
    await stop(program);
    await server.stop();
  };
  return {program, step, url: server.url, end};
}
