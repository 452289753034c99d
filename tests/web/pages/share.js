// SPDX-License-Identifier: MIT
//
// Pages that are one file, from file://: they answer every question as the server does, say what
// they are a part of, and ask no network.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import {pathToFileURL} from "node:url";
import axe from "axe-core";
import {after, bytecode, dispatch, names, speedscope, withSource} from "../fixtures.js";
import * as support from "../support.js";
import {folder, ouro, run, view, write} from "../support.js";
import {leads, link, open, rowOf, shown} from "../use.js";

/** Was this build made with a compiler for WebAssembly? Without one, html files are reports. */
export const hasPages = fs
  .readFileSync(new URL(onePage(dispatch())), "utf8")
  .includes('id="ouro-module"');
if (!hasPages) console.log("# built without clang for WebAssembly: no pages that are one file");
const test = hasPages ? support.test : () => {};

const SOURCE = new URL("../../../src/server/api.c", import.meta.url);
/** Every question that the server knows. */
const QUESTIONS = [...fs.readFileSync(SOURCE, "utf8").matchAll(/^ {4}\{"(\w+)", ouro__api_/gm)].map(
  match => match[1],
);

const seed = Number(process.env.OURO_SEED ?? Date.now() % 1e9);

/** Numbers from 0 to n - 1, the same for the same seed. @param {number} from */
function randomNumbers(from) {
  let state = from || 1;
  return n => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** @param {string} file @param {...string} options @returns {string} address of the page */
export function onePage(file, ...options) {
  const to = path.join(folder, path.basename(file) + options.join("") + ".html");
  run(ouro, "convert", ...options, file, to);
  return pathToFileURL(to).href;
}

/** A profile of two metrics, one with decimals, and recursion. @param {number} from */
function random(from) {
  const below = randomNumbers(from);
  const frames = Array.from({length: 12}, (_, i) => ({
    name: "f" + (i % 9),
    file: i % 4 ? `folder/${i % 3}.x` : undefined,
    line: i % 4 ? i : undefined,
  }));
  const samples = Array.from({length: 80}, () =>
    Array.from({length: 1 + below(9)}, () => below(frames.length)),
  );
  return speedscope(
    `random${from}.speedscope.json`,
    frames,
    samples,
    samples.map(() => below(1000) / 4),
  );
}

/** Parameters that most questions take, and some that they refuse. */
function parameters(below, labels, metrics) {
  const label = () => labels[below(labels.length)];
  const some = [
    () => ["metric", below(9) ? metrics[below(metrics.length)] : "nothing"],
    () => ["select", label()],
    () => ["exclude", label()],
    () => ["fold", label()],
    () => ["block", label()],
    () => ["at", label()],
    () => ["search", label().slice(0, 2)],
    () => ["text", label().slice(0, 2)],
    () => ["sort", ["self", "-overall", "name", "-name", "calls", "line", "wrong"][below(7)]],
    () => ["limit", String(below(30))],
    () => ["offset", String(below(5))],
    () => ["side", ["before", "after", "wrong"][below(3)]],
    () => ["format", ["json", "csv"][below(2)]],
    () => ["as", ["svg", "folded", "pprof", "speedscope", "exe"][below(5)]],
    () => ["file", `folder/${below(4)}.x`],
  ];
  return Array.from({length: 1 + below(4)}, () => some[below(some.length)]());
}

/** Asks the module of the page. @param {import("playwright-core").Page} page @param {string[]} targets */
function askInside(page, targets) {
  return page.evaluate(async all => {
    const {answerInside} = await import("ouro/parts/inside.js");
    const answers = [];
    for (const target of all) {
      const answer = await answerInside(target);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      answers.push({
        status: answer.status,
        type: answer.headers.get("Content-Type"),
        text: Array.from(bytes, byte => String.fromCharCode(byte)).join(""),
      });
    }
    return answers;
  }, targets);
}

/** What may differ: sources, which the page does not have. @param {string} text */
function comparable(text) {
  if (text[0] !== "{") return text;
  const answer = JSON.parse(text);
  for (const key of ["source", "text", "reason"]) delete answer[key];
  return answer;
}

/** @param {string} url @param {string[]} targets */
async function askServer(url, targets) {
  const answers = [];
  for (const target of targets) {
    const answer = await fetch(url + target);
    const text = Buffer.from(await answer.arrayBuffer()).toString("latin1");
    answers.push({status: answer.status, type: answer.headers.get("Content-Type"), text});
  }
  return answers;
}

async function answersAreTheSame(page, url, file, from) {
  const {files} = await (await fetch(url + "/api/v1/profile")).json();
  const {blocks} = await (await fetch(url + "/api/v1/blocks?limit=50")).json();
  const labels = [...blocks.map(block => block.label), "no such block"];
  const below = randomNumbers(from);
  const targets = [];
  for (const question of QUESTIONS) {
    for (let i = 0; i < 25; i++) {
      const query = new URLSearchParams(
        i ? parameters(below, labels, files[0].metrics.map(m => m.name)) : [],
      );
      if (query.get("as") !== "html") targets.push(`/api/v1/${question}?${query}`);
    }
  }
  await open(page, file);
  const inside = await askInside(page, targets);
  const outside = await askServer(url, targets);
  let good = 0;
  for (const [i, target] of targets.entries()) {
    const about = `seed ${from}: ${target}`;
    assert.equal(inside[i].status, outside[i].status, about);
    assert.equal(inside[i].type, outside[i].type, about);
    assert.deepEqual(comparable(inside[i].text), comparable(outside[i].text), about);
    good += inside[i].status === 200;
  }
  assert.ok(good > targets.length / 4, `only ${good} of ${targets.length} had an answer`);
}

test("a_page_that_is_one_file_answers_every_question_as_the_server_does", async page => {
  assert.ok(QUESTIONS.length > 10, "the table of questions was found");
  const file = path.basename(random(seed));
  const {url} = await view([file]);
  await answersAreTheSame(page, url, onePage(file), seed);
});

test("a_page_with_two_files_answers_every_question_as_the_server_does", async page => {
  dispatch();
  after();
  const {url} = await view(["dispatch.folded", "after.folded"]);
  const data = await (await fetch(url + "/api/v1/export?as=html")).text();
  const file = pathToFileURL(write("pair.html", data)).href;
  await answersAreTheSame(page, url, file, seed);
  await open(page, file + "#/compare");
  assert.equal((await rowOf(page, "sweep"))[0], "+13 new");
});

test("a_page_that_is_one_file_asks_no_network_on_any_page", async page => {
  const asked = [];
  page.on("request", request => asked.push(request.url()));
  const file = onePage(bytecode());
  const {PAGES} = await import("../../../web/model/url.js");
  await open(page, file);
  const label = await page.locator("main a[data-label]").first().getAttribute("data-label");
  // What compares needs a second file, and what chooses needs a store.
  for (const name of PAGES.filter(one => !["compare", "fleet"].includes(one))) {
    const at = name === "overview" ? "/" : "/" + name;
    const query = name === "block" ? "?block=" + encodeURIComponent(label) : "";
    await open(page, `${file}#${at}${query}`);
    assert.equal(await page.getByRole("alert").count(), 0, name);
    assert.ok((await page.locator("main h1").textContent()).length > 2, name);
  }
  const others = asked.filter(url => !url.startsWith("data:") && url.split("#")[0] !== file);
  assert.deepEqual(others, []);
});

test("a_page_that_is_one_file_is_used_like_the_viewer", async page => {
  const file = onePage(dispatch());
  await open(page, file);
  await leads(page, () => page.getByRole("link", {name: "Self", exact: true}).click());
  assert.match(page.url(), /dispatch\.folded\.html#\/self$/);
  assert.equal((await rowOf(page, "add"))[0], "55 55.0%");
  await leads(page, async () => {
    await link(page, "add").hover();
    await link(page, "add").locator("xpath=..").locator("button.more").click();
    await page.getByRole("menuitem", {name: /^Select/}).click();
  });
  assert.match(page.url(), /#\/self\?select=add$/);
  assert.match(await page.locator("#filters").innerText(), /55 left, 55\.0% of 100/);
  await leads(page, () => page.goBack());
  assert.equal(await page.locator(".chip").count(), 0);
  await leads(page, () => page.getByRole("link", {name: "Flame graph", exact: true}).click());
  await page.reload();
  await shown(page);
  assert.match(await page.title(), /^Flame graph · dispatch\.folded/);
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  await shown(page);
  assert.match(page.url(), /#\/flame/, "a place on the page is no address");
  await leads(page, () => page.locator(".brand").click());
  assert.match(page.url(), /#\/$/);
});

test(
  "files_are_saved_from_a_page_that_is_one_file",
  async page => {
    await open(page, onePage(dispatch()) + "#/self?exclude=gc");
    const take = async item => {
      await page.getByRole("button", {name: "Export"}).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", {name: item}).click(),
      ]);
      return {name: download.suggestedFilename(), text: fs.readFileSync(await download.path(), "utf8")};
    };
    const csv = await take("CSV");
    assert.equal(csv.name, "dispatch.folded-self.csv");
    assert.ok(/^add,/m.test(csv.text) && !/^gc,/m.test(csv.text), csv.text);
    assert.match((await take("SVG")).text, /samples: 92 of 100 \(92\.00%\)[^]*exclude gc/);
    assert.match((await take("Folded")).text, /^main;run;dispatch;add 30$/m);
    await page.getByRole("button", {name: "Export"}).click();
    assert.equal(await page.getByRole("menuitem", {name: "HTML"}).count(), 0);
  },
  {around: true},
);

test("a_file_of_a_part_says_on_every_page_what_it_is_a_part_of", async page => {
  const file = onePage(dispatch(), "--select", "add", "--fold", "call");
  for (const at of ["/", "/self", "/flame", "/tree", "/block?block=add"]) {
    await open(page, `${file}#${at}`);
    assert.match(
      await page.locator("#part").innerText(),
      /part of the profile: select add, fold call\. It has 55 of 100 \(55\.0%\)/,
    );
  }
  await open(page, file + "#/self");
  assert.match((await rowOf(page, "add"))[0], /^55 55\.0%/, "percentages are of the whole");
  await page.evaluate(axe.source); // the policy allows no script of ours in the page
  const {violations} = await page.evaluate(() => window.axe.run(document));
  assert.deepEqual(
    violations.map(v => `${v.id}: ${v.nodes[0].html}`),
    [],
  );
  await open(page, onePage(dispatch()));
  assert.ok(await page.locator("#part").isHidden());
});

test("names_in_a_page_that_is_one_file_are_text", async page => {
  const file = onePage(names());
  for (const at of ["/", "/self", "/paths", "/flame", "/tree", "/recursion", "/source"])
    await open(page, `${file}#${at}`);
  assert.equal(await page.evaluate(() => window.evil), undefined);
});

test(
  "a_page_that_is_one_file_runs_its_own_scripts_only",
  async page => {
    await open(page, onePage(dispatch()));
    await page.evaluate(() => {
      const main = document.getElementById("main");
      main.innerHTML = `<img src="x:" onerror="window.evil=1"><a href="javascript:window.evil=1">`;
      main.querySelector("a").click();
      main.append(Object.assign(document.createElement("style"), {textContent: "p{color:red}"}));
      return new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    });
    assert.equal(await page.evaluate(() => window.evil), undefined);
    const asked = await page.evaluate(() =>
      fetch("http://127.0.0.1:9/").then(
        () => "allowed",
        () => "refused",
      ),
    );
    assert.equal(asked, "refused");
  },
  {mayFail: /./},
);

test("the_source_page_of_one_file_says_where_sources_are_shown", async page => {
  await open(page, onePage(withSource()) + "#/source?file=program.x");
  assert.match(await page.locator("main").innerText(), /ouro view PROFILE/);
  assert.ok((await page.locator("main").innerText()).includes("700"), "lines still have numbers");
});

/** @param {number} paths @param {(i: number) => string} name */
function manyPaths(paths, name) {
  const below = randomNumbers(7);
  let text = "";
  for (let i = 0; i < paths; i++)
    text += `main;group${i % 97};${name(i)} ${1 + below(1e9)} ${below(1e9)}\n`;
  return text;
}

test("a_page_of_20000_paths_takes_less_than_3_MB_and_a_larger_one_says_what_it_left_out", async page => {
  const below = randomNumbers(3);
  const word = () => Array.from({length: 5}, () => below(2 ** 30).toString(36)).join("_");
  write("many.folded", manyPaths(20_000, () => word()));
  const size = url => fs.statSync(new URL(url)).size;
  const many = onePage("many.folded");
  assert.ok(size(many) < 3e6, `${size(many)} bytes`);
  await open(page, many);
  assert.ok(await page.locator("#part").isHidden(), "nothing is left out");
  write("more.folded", manyPaths(160_000, i => "block_" + (i % 50_000)));
  const more = onePage("more.folded");
  assert.ok(size(more) < 3e6, `${size(more)} bytes`);
  await open(page, more);
  assert.match(await page.locator("#part").innerText(), /Made small: the [\d,]+ smallest of [\d,]+ paths/);
  const totals = JSON.parse(run(ouro, "report", "--json", "--top", "1", "more.folded"));
  const [answer] = await askInside(page, ["/api/v1/overview"]);
  const {total, left} = JSON.parse(answer.text);
  assert.equal(left, total);
  assert.equal(total, totals.total);
});
