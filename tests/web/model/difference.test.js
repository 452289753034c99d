// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {palette} from "../../../web/model/colour.js";
import {MOST, colourOf, growthOf, legend, noteOf, shade, stepOf} from "../../../web/model/difference.js";

test("a_box_is_coloured_by_how_much_it_grew", () => {
  const step = (before, after, totals) => stepOf(growthOf(before, after, totals));
  assert.deepEqual(
    [step(100, 100), step(1000, 1009), step(100, 105), step(100, 110), step(100, 149), step(100, 150)],
    [0, 0, 1, 2, 2, 3],
  );
  assert.deepEqual([step(100, 95), step(100, 60), step(100, 50), step(100, 1)], [-1, -2, -3, -3]);
  assert.deepEqual([step(0, 5), step(5, 0), step(0, 0)], [MOST, -MOST, 0]);
  // Twice as long in all: what also took twice as long did not grow.
  assert.equal(step(10, 20, {before: 100, after: 200}), 0);
  assert.equal(step(10, 10, {before: 100, after: 200}), -3);
  assert.equal(step(0, 10, {before: 0, after: 200}), MOST);
});

test("a_box_says_its_growth", () => {
  const note = (before, after) => noteOf(growthOf(before, after));
  assert.deepEqual(
    [note(100, 136), note(100, 64), note(5, 0), note(0, 5), note(100, 100), note(10, 300)],
    ["+36%", "−36%", "gone", "new", "", "30×"],
  );
});

test("the_legend_goes_from_gone_to_new", () => {
  assert.deepEqual(
    legend().map(entry => entry.step),
    [-4, -3, -2, -1, 0, 1, 2, 3, 4],
  );
  assert.equal(legend()[5].text, "+1 to 10%");
  assert.equal(legend()[1].text, "−50% or more");
});

// ---------------------------------------------------------------- eyes

/** Linear sRGB of a colour in OKLCH, by the definition of OKLab. */
function linear([lightness, chroma, hue]) {
  const a = chroma * Math.cos((hue * Math.PI) / 180),
    b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function oklab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
    m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
    s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** Without one kind of cone, in linear sRGB: the matrices of Machado, Oliveira and Fernandes, 2009. */
const EYES = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const clipped = values => values.map(v => Math.min(1, Math.max(0, v)));
const seen = (colour, eye) => {
  const rgb = clipped(linear(colour));
  return oklab(clipped(eye.map(row => row.reduce((sum, v, i) => sum + v * rgb[i], 0))));
};
const apart = (x, y) => Math.hypot(...x.map((v, i) => v - y[i]));

test("more_and_less_look_different_to_everybody", () => {
  for (const dark of [false, true])
    for (const [name, eye] of Object.entries(EYES))
      for (let more = 1; more <= MOST; more++)
        for (let less = 1; less <= MOST; less++) {
          const by = apart(seen(shade(more, dark), eye), seen(shade(-less, dark), eye));
          assert.ok(by > 0.045, `${name}, dark ${dark}: +${more} and −${less} are ${by} apart`);
        }
});

test("every_step_looks_different_from_the_next", () => {
  for (const dark of [false, true])
    for (const [name, eye] of Object.entries(EYES))
      for (let step = -MOST; step < MOST; step++) {
        const by = apart(seen(shade(step, dark), eye), seen(shade(step + 1, dark), eye));
        assert.ok(by > 0.025, `${name}, dark ${dark}: ${step} and ${step + 1} are ${by} apart`);
      }
});

test("names_can_be_read_on_every_step", () => {
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  for (const dark of [false, true]) {
    const text = palette(dark).text.match(/[\d.]+/g).map(Number);
    for (let step = -MOST; step <= MOST; step++) {
      const [a, b] = [text, shade(step, dark)].map(colour => light(clipped(linear(colour))) + 0.05);
      const contrast = Math.max(a, b) / Math.min(a, b);
      assert.ok(contrast >= 4.5, `${colourOf(step, dark)}: ${contrast}`);
    }
  }
});
