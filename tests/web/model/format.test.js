// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {
  amount,
  boxLabel,
  change,
  count,
  duration,
  exact,
  fileLine,
  growth,
  number,
  percent,
  plural,
  scaleFor,
  share,
  shortFileLine,
  shortened,
  signed,
  visible,
} from "../../../web/model/format.js";

test("a_column_has_the_unit_of_its_total", () => {
  const scale = scaleFor("nanoseconds", 0, 12_345_678_901);
  assert.deepEqual(scale, {by: 1e6, unit: "ms", digits: 1});
  assert.equal(number(12_345_678_901, scale), "12,345.7");
  assert.equal(number(1_000_000, scale), "1.0");
  assert.equal(number(1, scale), "<0.1");
  assert.equal(number(-1, scale), "−<0.1");
  assert.equal(number(0, scale), "0");
  assert.equal(number(null, scale), "–");
});

test("a_count_has_all_its_digits_or_three_and_a_letter", () => {
  assert.equal(amount(9_999, "count", 0), "9,999");
  assert.equal(amount(10_000, "count", 0), "10.0 k");
  assert.equal(amount(999_499, "count", 0), "999 k");
  assert.equal(amount(999_500, "count", 0), "1.00 M");
  assert.equal(amount(11_105_944, "count", 0), "11.1 M");
  assert.equal(amount(11_105_944, "instructions", 0), "11.1 M instructions");
  assert.equal(amount(4_452_345_678, "count", 0), "4.45 G");
  assert.equal(amount(-4_452_345_678, "count", 0), "−4.45 G");
  assert.equal(amount(25e15, "count", 0), "25,000 T");
  assert.equal(exact(4_452_345_678, "count", 0), "4,452,345,678");
  assert.equal(amount(0, "count", 0), "0");
  assert.equal(amount(7, "", 0), "7");
});

test("units_climb_their_ladders", () => {
  assert.equal(amount(999, "nanoseconds", 0), "999 ns");
  assert.equal(amount(1_500_000, "nanoseconds", 0), "1.50 ms");
  assert.equal(amount(150, "seconds", 0), "150 s");
  assert.equal(amount(1_500, "milliseconds", 0), "1.50 s");
  assert.equal(amount(5 * 1024 ** 3, "bytes", 0), "5.00 GiB");
  assert.equal(amount(-2_000_000, "nanoseconds", 0), "−2.00 ms");
});

test("a_metric_with_decimals_counts_parts", () => {
  assert.equal(amount(12_345, "joules", 2), "123.45 joules");
  assert.equal(exact(12_345, "joules", 2), "123.45 joules");
  assert.equal(exact(-1_234_567, "count", 0), "−1,234,567");
});

test("a_unit_from_the_profile_is_never_a_property_of_objects", () => {
  assert.equal(amount(5, "constructor", 0), "5 constructor");
  assert.equal(amount(5, "__proto__", 0), "5 __proto__");
});

test("percentages_have_one_digit_and_are_never_wrongly_nothing_or_all", () => {
  assert.equal(percent(1, 3), "33.3%");
  assert.equal(percent(3, 3), "100.0%");
  assert.equal(percent(0, 3), "0.0%");
  assert.equal(percent(1, 1e6), "<0.1%");
  assert.equal(percent(-1, 1e6), "−<0.1%");
  assert.equal(percent(999_999, 1e6), ">99.9%");
  assert.equal(percent(-1, 4), "−25.0%");
  assert.equal(percent(5, 0), "–");
  assert.equal(percent(null, 5), "–");
});

test("a_bar_is_between_nothing_and_all", () => {
  assert.deepEqual(
    [share(1, 2), share(5, 2), share(-1, 2), share(1, 0), share(null, 3)],
    [0.5, 1, 0, 0, 0],
  );
});

test("changes_have_signs", () => {
  const scale = scaleFor("count", 0, 1000);
  assert.deepEqual([signed(5, scale), signed(-5, scale), signed(0, scale)], ["+5", "−5", "0"]);
  assert.deepEqual(
    [growth(100, 150), growth(100, 50), growth(5, 5), growth(0, 5), growth(5, 0)],
    ["+50.0%", "−50.0%", "0.0%", "new", "gone"],
  );
  assert.equal(growth(1, 5000), "+5,000×");
  assert.equal(growth(10, 109), "+990.0%");
  assert.equal(growth(10, 110), "+11×");
  assert.equal(growth(100000, 100001), "+<0.1%");
});

test("a_change_has_one_unit", () => {
  assert.equal(change(122_191, 25_642, "count", 0), "122,191 → 25,642, −96,549 (−79.0%)");
  assert.equal(change(9_000, 12_000, "count", 0), "9,000 → 12,000, +3,000 (+33.3%)");
  assert.equal(change(25_642_000_000, 4_000, "count", 0), "25,642.0 M → <0.1 M, −25,642.0 M (−100.0%)");
  assert.equal(change(1_100, 612_300_000, "nanoseconds", 0), "<0.01 ms → 612.30 ms, +612.30 ms (+556,636×)");
  assert.equal(change(0, 700, "bytes", 0), "0 B → 700 B, +700 B (new)");
  assert.equal(change(5, 5, "count", 0), "5 → 5, 0");
  assert.equal(change(150, 275, "joules", 2), "1.50 joules → 2.75 joules, +1.25 joules (+83.3%)");
});

test("times_of_a_recording_are_told_as_people_do", () => {
  assert.deepEqual(
    [
      duration(0.0000005),
      duration(0.25),
      duration(1.5),
      duration(75),
      duration(150),
      duration(7260),
      duration(null),
    ],
    ["1 µs", "250 ms", "1.50 s", "75.0 s", "2 min 30 s", "2 h 1 min ", "–"],
  );
});

test("names_are_shortened_in_the_middle_by_letters_not_by_code_units", () => {
  assert.equal(shortened("short", 10), "short");
  assert.equal(shortened("abcdefghijklmnopqrstuvwxyz", 16), "abcdefghi…uvwxyz");
  assert.equal(shortened("abcdefghijklmnopqrstuvwxyz", 6), "abcde…");
  const faces = "\u{1F600}".repeat(30);
  assert.equal([...shortened(faces, 7)].length, 7);
  assert.equal(shortened("x".repeat(5000), 40).length, 40);
  assert.equal(shortened("\u{1F600}".repeat(6), 10), "\u{1F600}".repeat(6));
});

test("a_box_keeps_the_end_of_a_qualified_name", () => {
  assert.equal(
    boxLabel("cmd/compile/internal/ssa.Compile", 40),
    "cmd/compile/internal/ssa.Compile",
  );
  assert.equal(boxLabel("cmd/compile/internal/ssa.Compile", 14), "ssa.Compile");
  assert.equal(boxLabel("/Std/List%.Append", 14), "List%.Append");
  assert.equal(boxLabel("ns::type::call(int, a::b)", 16), "call(int, a::b)");
  assert.equal(boxLabel("operator/(a, b) const", 10), "operator/…");
  assert.equal(boxLabel("a/", 1), "…");
  assert.equal(boxLabel("std::vector<a::b>::push_back(x)", 20), "vector<a::b>…back(x)");
});

test("places_are_as_long_as_what_is_known", () => {
  assert.equal(fileLine({file: "a/b.c", line: 3, column: 7}), "a/b.c:3:7");
  assert.equal(fileLine({file: "a/b.c", line: 0, column: 0}), "a/b.c");
  assert.equal(fileLine({file: null, line: 3}), "");
  assert.equal(shortFileLine({file: "x/a/b.c", line: 3}), "a/b.c:3");
  assert.equal(shortFileLine({file: "b.c", line: 3}), "b.c:3");
  assert.equal(shortFileLine({file: "a/b/", line: 0}), "a/b/");
});

test("one_is_not_many", () => {
  assert.deepEqual(
    [plural(1, "line"), plural(0, "line"), plural(1200, "line")],
    ["1 line", "0 lines", "1,200 lines"],
  );
  assert.deepEqual([count(1234567), count(null)], ["1,234,567", "–"]);
});

test("what_turns_the_direction_of_writing_is_an_escape", () => {
  assert.equal(visible("plain größe שלום 👩‍💻"), "plain größe שלום 👩‍💻");
  assert.equal(visible("a\u202eb\u2069\u061c"), "a\\u202eb\\u2069\\u061c");
  assert.equal(visible("a\u0007b\u200bc\u2028"), "a\ufffdb\ufffdc\ufffd");
  assert.equal(visible("line\n\tline"), "line\n\tline");
  assert.equal(boxLabel("a\u202eb", 20), "a\\u202eb");
  assert.equal(shortened("\u202e".repeat(5), 8), "\\u202e\\…");
});
