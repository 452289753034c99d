// SPDX-License-Identifier: MIT
//
// How the pages look and read: numbers, locations, columns, graphs, findings, words, hints, colours.

import assert from "node:assert/strict";
import * as fixtures from "../fixtures.js";
import {test, view, write} from "../support.js";
import {eventually, fits, leads, link, open, rows} from "../use.js";

const MILLION = 4_452_345_678;

/** Large numbers, long locations. */
function large() {
  const folder = "/home/somebody/work/a-project-with-a-long-name/components/engine/source";
  return fixtures.speedscope(
    "large.speedscope.json",
    [
      {name: "main", file: folder + "/main.c", line: 12},
      {name: "work", file: folder + "/deep/inside/worker_implementation.c", line: 34567},
    ],
    [[0], [0, 1]],
    [MILLION / 4, MILLION],
  );
}

test(
  "numbers_are_short_and_copies_have_every_digit",
  async page => {
    const {url} = await view([write("big.folded", `a;b ${MILLION}\na;c 1200000\na 7\n`)]);
    await open(page, url + "/self");
    assert.equal((await rows(page))[0][0], "4.45 G >99.9%");
    assert.equal(await page.locator("td.self").first().getAttribute("title"), "4,452,345,678");
    await page.evaluate(() => {
      getSelection().selectAllChildren(document.querySelector("table"));
      // After the page's own listener, which stands at the document.
      addEventListener("copy", event => {
        document.body.dataset.copied = event.clipboardData.getData("text/plain");
      });
    });
    await page.keyboard.press("Control+c");
    await page.waitForFunction(() => document.body.dataset.copied);
    const copied = await page.evaluate(() => document.body.dataset.copied);
    assert.match(copied, /^4452345678\t>99\.9%\t4452345678\t/m);
    assert.match(copied, /^1200000\t/m);
    assert.doesNotMatch(copied, /4\.45/);
  },
  {around: true},
);

test("of_left_is_shown_only_while_a_filter_leaves_less", async page => {
  const {url} = await view([fixtures.dispatch()]);
  const parts = () => page.locator(".of-left").count();
  for (const at of ["/", "/self", "/block?block=add", "/tree", "/recursion"]) {
    await open(page, url + at);
    assert.equal(await parts(), 0, at);
  }
  await open(page, url + "/self?exclude=gc");
  assert.ok((await parts()) > 0);
  assert.equal((await rows(page))[0][0], "55 55.0% 59.8%");
});

test("a_location_is_cut_on_the_left_so_that_its_line_survives", async page => {
  const {url} = await view([large()]);
  await open(page, url + "/self");
  const cell = page.locator("td.place .where").first();
  const {cut, end} = await cell.evaluate(one => {
    const text = one.querySelector("bdi").getBoundingClientRect();
    const box = one.getBoundingClientRect();
    return {cut: text.left < box.left, end: Math.abs(text.right - box.right)};
  });
  assert.ok(cut, "it does not fit");
  assert.ok(end < 2, `its end is at the end of the cell, not ${end} pixels away`);
  assert.match(await cell.textContent(), /worker_implementation\.c:34567$/);
});

test("columns_do_not_move_when_the_numbers_change", async page => {
  const {url} = await view([fixtures.bytecode()]);
  const edges = () =>
    page.locator("thead th").evaluateAll(all => all.map(th => th.getBoundingClientRect().left));
  await open(page, url + "/self?metric=calls");
  const before = await edges();
  await leads(page, () => page.locator("#metric").selectOption("instructions"));
  assert.deepEqual(await edges(), before);
});

test("numbers_and_names_of_a_row_stand_on_one_line", async page => {
  const {url} = await view([fixtures.bytecode()]);
  for (const at of ["/self", "/block?block=main", "/tree", "/paths?search=collatz"]) {
    await open(page, url + at);
    const apart = await page.locator("tbody tr").evaluateAll(all =>
      all.map(row => {
        const lines = [...row.querySelectorAll(".value, .part, .ref bdi, .where bdi, .aside")].map(one => {
          // The baseline: where an empty inline block would stand.
          const mark = document.createElement("span");
          mark.style.display = "inline-block";
          one.append(mark);
          const {bottom} = mark.getBoundingClientRect();
          mark.remove();
          return bottom;
        });
        return Math.max(...lines) - Math.min(...lines);
      }),
    );
    assert.ok(Math.max(...apart) < 1, `${at}: ${Math.max(...apart)} pixels apart`);
  }
});

test("the_call_graph_around_a_block_is_drawn_and_followed", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await open(page, url + "/block?block=dispatch");
  const graph = page.getByRole("group", {name: "Calls around dispatch"});
  assert.deepEqual(
    (await graph.locator(".node bdi").allTextContents()).sort(),
    ["add", "call", "dispatch", "main", "mul", "run"],
  );
  assert.equal(await graph.locator(".node.centre bdi").textContent(), "dispatch");
  const told = await graph.locator("ul.unseen li").allTextContents();
  assert.ok(told.includes("run calls dispatch: 80, 80.0%"), told.join("\n"));
  assert.ok(told.includes("dispatch calls mul: 20, 20.0%"), told.join("\n"));
  assert.equal(await graph.locator(".arrow").count(), told.length);
  await eventually(async () => {
    // By exact edges: scrollWidth and clientWidth are rounded, and not by every browser alike.
    const out = await graph.evaluate(one => {
      const edge = one.getBoundingClientRect().right;
      return Math.max(...[...one.querySelectorAll("*")].map(e => e.getBoundingClientRect().right - edge));
    });
    assert.ok(out <= 0, `${out} pixels stick out of it`);
  });
  await graph.getByRole("link", {name: "mul"}).focus();
  assert.equal(await graph.locator(".arrow.lit").count(), 1);
  await leads(page, () => page.keyboard.press("Enter"));
  assert.equal(await page.locator("h1").textContent(), "mul");
});

test("callers_and_callees_have_their_names", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await open(page, url + "/block?block=dispatch");
  const captions = await page.locator(".sides caption").allTextContents();
  assert.deepEqual(captions, [
    "Callers going in: who calls it",
    "Callees going out: what it calls",
  ]);
});

test("a_menu_says_what_each_filter_does", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await open(page, url + "/self");
  await link(page, "add").focus();
  await page.keyboard.press("m");
  const effects = await page.locator(".menu .effect").allTextContents();
  assert.deepEqual(effects.slice(0, 3), [
    "Keep only paths that contain it",
    "Drop all paths that contain it",
    "Remove it; callers take its self",
  ]);
  for (const effect of effects) assert.ok(effect.split(" ").length <= 6, effect);
});

for (const width of [390, 1280, 2560])
  test(`graphs_fit_a_page_of_${width}_pixels`, async page => {
    await page.setViewportSize({width, height: 900});
    const {url} = await view([fixtures.bytecode()]);
    for (const at of ["/", "/block?block=is_even", "/recursion", "/self", "/source"]) {
      await open(page, url + at);
      await fits(page);
    }
  });



/** Answers of a server that knows more of recursion, in the shape of docs/api.md. */
const RECURSION = {
  generation: 1,
  metric: "samples",
  unit: "count",
  decimals: 0,
  total: 200,
  left: 200,
  blocks: ["eval", "apply", "main", "rec"].map((name, i) => ({
    label: name,
    name,
    file: null,
    line: 0,
    column: 0,
    mark: null,
    recursion: i === 2 ? null : {direct: i === 3 ? 99999 : 7, through: 3, deepest: [5, 4, 0, 100000][i]},
  })),
  rows: [
    {
      members: [0, 1],
      self: 60,
      overall: 120,
      calls: 4,
      deepest: 5,
      in: [{block: 2, overall: 120, calls: 4}],
      out: [],
      member_count: 2,
      in_count: 1,
      out_count: 0,
      direct: 7,
      through: 6,
      member_rows: [
        {block: 0, self: 40, overall: 120, calls: 4, direct: 7, through: 3, deepest: 5},
        {block: 1, self: 20, overall: 80, calls: 3, direct: 0, through: 3, deepest: 4},
      ],
      edges: [
        {from: 0, to: 1, value: 80, calls: 3},
        {from: 1, to: 0, value: 40, calls: 2},
      ],
      edge_count: 2,
    },
    {
      members: [3],
      self: 30,
      overall: 30,
      calls: 1,
      deepest: 100000,
      in: [],
      out: [],
      member_count: 1,
      in_count: 0,
      out_count: 0,
      direct: 99999,
      through: 0,
      member_rows: [
        {block: 3, self: 30, overall: 30, calls: 1, direct: 99999, through: 0, deepest: 100000},
      ],
      edges: [],
      edge_count: 0,
    },
  ],
  count: 2,
  offset: 0,
};

test("recursion_is_drawn_with_arrows_as_thick_as_the_flow_and_says_how_deep", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await page.route("**/api/v1/knots*", route => route.fulfill({json: RECURSION}));
  await open(page, url + "/recursion");
  const graph = page.getByRole("group", {name: "Calls between 2 blocks"});
  const arrows = await graph
    .locator(".arrow")
    .evaluateAll(all =>
      all.map(one => [
        one.querySelector("title").textContent,
        Number(one.querySelector(".line").getAttribute("stroke-width")),
      ]),
    );
  assert.deepEqual(
    arrows.map(([told]) => told),
    [
      "eval calls apply: 80, 40.0%, 3 calls",
      "apply calls eval: 40, 20.0%, 2 calls",
      "eval calls itself 7 times",
    ],
  );
  assert.equal(arrows[0][1], 2 * arrows[1][1]);
  assert.deepEqual(await graph.locator(".rec > span:first-child").allTextContents(), ["↻ 5", "↻ 4"]);
  assert.match(await page.locator(".found").textContent(), /The deepest is rec, 100,000 deep\./);
  const [alone] = await rows(page, "Direct recursion");
  assert.deepEqual(alone.slice(2), ["100 k", "100 k", "rec"]);
  await graph.getByRole("link", {name: "apply"}).focus();
  await leads(page, () => page.keyboard.press("s"));
  assert.match(page.url(), /select=apply/);
});

test("the_overview_begins_with_findings_that_lead_on", async page => {
  const {url} = await view([fixtures.dispatch()]);
  const evil = "<img src=x onerror=window.evil=1>";
  await page.route("**/api/v1/overview*", async route => {
    const answer = await (await route.fetch()).json();
    answer.blocks.push({label: "add", name: evil, file: null, line: 0, column: 0, mark: null});
    const block = answer.blocks.length - 1;
    answer.findings = [
      {kind: "self", text: ["55.0% is spent in ", {block}, " itself."], value: 55, link: {page: "block", block}},
      {kind: "flat", text: ["No block stands out."], value: null, link: {page: "recursion", block: null}},
    ];
    await route.fulfill({json: answer});
  });
  await open(page, url + "/");
  const findings = page.locator(".findings a");
  assert.deepEqual(await findings.allTextContents(), [
    `55.0% is spent in ${evil} itself.`,
    "No block stands out.",
  ]);
  assert.equal(await page.evaluate(() => window.evil), undefined);
  await leads(page, () => findings.last().click());
  assert.equal(new URL(page.url()).pathname, "/recursion");
  await leads(page, () => page.goBack());
  await leads(page, () => findings.first().click());
  assert.match(page.url(), /\/block\?block=add$/);
});

test("without_findings_the_overview_has_no_place_for_them", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await page.route("**/api/v1/overview*", async route => {
    const {findings, ...answer} = await (await route.fetch()).json();
    await route.fulfill({json: answer});
  });
  await open(page, url + "/");
  assert.equal(await page.locator(".findings").isVisible(), false);
});

test("hints_are_shown_once_and_come_back_from_the_help", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await open(page, url + "/");
  const hint = page.locator("#hint");
  assert.match(await hint.textContent(), /Each sentence leads/);
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Source"}).click());
  assert.match(await hint.textContent(), /next hot line/);
  await page.getByRole("button", {name: "No more hints"}).click();
  assert.equal(await hint.isVisible(), false);
  await open(page, url + "/self");
  assert.equal(await hint.isVisible(), false, "the browser remembers");
  await page.keyboard.press("?");
  await page.getByLabel("Hints on pages").check();
  await page.getByRole("button", {name: "Close"}).click();
  assert.match(await hint.textContent(), /callers and callees/);
});

test("the_help_explains_every_word", async page => {
  const {url} = await view([fixtures.dispatch()]);
  await open(page, url + "/");
  await page.keyboard.press("?");
  const words = (await page.locator(".help .words dt").allTextContents()).join("\n");
  for (const word of ["Self", "Overall", "Callers, callees", "Select", "Exclude", "Fold", "[pruned]", "↻", "of left"])
    assert.ok(words.toLowerCase().includes(word.toLowerCase()), word);
  assert.doesNotMatch(await page.locator("dialog").textContent(), /charged/);
});

test("hot_lines_are_visited_one_after_the_other", async page => {
  const {url} = await view([fixtures.withSource()], ["--source", "."]);
  await open(page, url + "/source?file=program.x");
  await leads(page, () => page.getByRole("button", {name: "Next hot line"}).click());
  assert.equal(new URL(page.url()).searchParams.get("line"), "700");
  assert.match(await page.locator(".hot").textContent(), /Line 700 is number 1 of 2 hot lines: 60\.0%/);
  assert.ok(await page.locator("tr.wanted").isVisible());
  await leads(page, () => page.keyboard.press("n"));
  assert.equal(new URL(page.url()).searchParams.get("line"), "3");
  await leads(page, () => page.keyboard.press("N"));
  assert.equal(new URL(page.url()).searchParams.get("line"), "700");
  const heat = await page
    .locator("tr.wanted .line")
    .evaluate(one => Number(one.style.getPropertyValue("--heat")));
  assert.equal(heat, 1);
});

test("a_source_has_colours_and_its_text_is_text", async page => {
  write("colours.c", 'int main(void) { return "<b>" != 0; } // <script>window.evil = 1</script>\n');
  const file = fixtures.speedscope(
    "colours.speedscope.json",
    [{name: "main", file: "colours.c", line: 1}],
    [[0]],
    [1],
  );
  const {url} = await view([file]);
  await open(page, url + "/source?file=colours.c");
  const kinds = await page
    .locator("td.text span")
    .evaluateAll(all => all.map(one => `${one.className} ${one.textContent}`));
  assert.deepEqual(kinds, [
    "keyword int",
    "keyword void",
    "keyword return",
    'string "<b>"',
    "number 0",
    "comment // <script>window.evil = 1</script>",
  ]);
});

test("a_folder_that_is_another_here_is_told_in_the_page", async page => {
  write("mapped.c", "int here;\n");
  const file = fixtures.speedscope(
    "mapped.speedscope.json",
    [{name: "main", file: "file:///build/x/mapped.c", line: 1}],
    [[0]],
    [1],
  );
  const {url} = await view([file]);
  await open(page, url + "/source?file=file%3A%2F%2F%2Fbuild%2Fx%2Fmapped.c");
  assert.match(await page.locator(".reason").textContent(), /The text is not shown.*Was it built elsewhere/);
  assert.equal(await page.getByLabel("Files below").inputValue(), "/build/x");
  await leads(page, () => page.getByRole("button", {name: "Look there"}).click());
  assert.equal(await page.locator("td.text").first().textContent(), "int here;");
  assert.equal(new URL(page.url()).searchParams.get("map"), "/build/x=.");
  await leads(page, () => link(page, "main").click());
  await leads(page, () => page.getByRole("link", {name: "Source"}).last().click());
  assert.equal(await page.locator("td.text").first().textContent(), "int here;", "the map stays");
  await leads(page, () => page.getByRole("link", {name: "Remove: /build/x=."}).click());
  assert.equal(await page.locator("td.text").count(), 0);
});
