// SPDX-License-Identifier: MIT
//
// What a live file does now, beside the mark at the top: a sparkline of the metric that is shown,
// those of all metrics when it is opened, and a switch that shows only the last seconds on every page.

import {amount} from "../model/format.js";
import {rateOf, rates, stepPath} from "../model/rates.js";
import {atTime} from "../model/url.js";
import {ask} from "./client.js";
import {fill, h} from "./dom.js";

const SECONDS = 60; // that a sparkline shows
const LAST = "10"; // of the switch
const BOX = {seconds: SECONDS, width: 96, height: 20};

/** @param {string} path @param {string} label @returns {SVGElement} */
function picture(path, label) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
  svg.setAttribute("class", "sparkline");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export class Recent {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    /** @type {any} */ this.grown = null;
    this.element = document.getElementById("recent");
    document.addEventListener("click", event => {
      const open = this.element.querySelector("details[open]");
      if (open && event.target instanceof Node && !open.contains(event.target)) open.removeAttribute("open");
    });
    this.element.addEventListener("keydown", event => {
      const open = this.element.querySelector("details[open]");
      if (event.key !== "Escape" || !open) return;
      open.removeAttribute("open");
      open.querySelector("summary").focus();
    });
  }

  /** Asks how the file grew, and shows it. */
  async refresh() {
    const {app} = this;
    if (!app.file?.live) return this.show();
    const query = new URLSearchParams({seconds: String(SECONDS)});
    if (app.state.side) query.set("side", app.state.side);
    this.grown = await ask("history", query).catch(() => this.grown);
    this.show();
  }

  /** @param {number} m @param {any} metric */
  rate(m, metric) {
    const {slices} = this.grown;
    const text = amount(Math.round(rateOf(slices, m, 10)), metric.unit, metric.decimals) + "/s";
    const label = `${metric.name}: ${text} now; the last ${SECONDS} seconds`;
    return {text, svg: picture(stepPath(rates(slices, m), BOX), label)};
  }

  details() {
    const {metrics} = this.grown;
    const name = this.app.state.metric || this.app.file.default_metric;
    const at = Math.max(0, metrics.findIndex(metric => metric.name === name));
    const now = this.rate(at, metrics[at]);
    return h(
      "details",
      null,
      h(
        "summary",
        {title: "How fast each metric grows", data: {key: "rates"}},
        now.svg,
        h("span.rate", null, now.text),
      ),
      h(
        "ul.rates",
        {"aria-label": "Amounts per second"},
        metrics.map((metric, m) => {
          const {text, svg} = this.rate(m, metric);
          return h("li", null, h("span", null, metric.name), svg, h("span.rate", null, text));
        }),
      ),
    );
  }

  toggle() {
    const {app} = this;
    app.say(app.state.last ? "All of the profile is shown." : `The last ${LAST} seconds are shown.`);
    return app.go(atTime(app.state, {last: app.state.last ? "" : LAST}));
  }

  show() {
    const {app} = this;
    const there = Boolean(app.file?.live && (app.file.running || this.grown?.slices.length));
    this.element.hidden = !there && !app.state.last;
    if (this.element.hidden) return;
    const wasOpen = Boolean(this.element.querySelector("details[open]"));
    const on = Boolean(app.state.last);
    fill(
      this.element,
      this.grown?.metrics.length ? this.details() : null,
      h(
        "button.tool.last",
        {
          type: "button",
          data: {key: "last"},
          "aria-pressed": String(on),
          title: on ? "Show everything again" : `Show only what happened in the last ${LAST} seconds, on every page`,
          onclick: () => this.toggle(),
        },
        `Last ${app.state.last || LAST} s`,
      ),
    );
    if (wasOpen) this.element.querySelector("details")?.setAttribute("open", "");
  }
}
