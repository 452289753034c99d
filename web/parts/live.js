// SPDX-License-Identifier: MIT
//
// A profile that is still being written: asks once a second for news, and shows the same page
// with new numbers. The mark is a button, because readers must be able to stop content that moves
// by itself.

import {ask} from "./client.js";
import {menuIsOpen} from "./menu.js";
import {Recent} from "./recent.js";

const EVERY = 1000; // milliseconds

export class Live {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.paused = false;
    this.lost = false;
    this.recent = new Recent(app);
    this.button = /** @type {HTMLButtonElement} */ (document.getElementById("live"));
    this.button.addEventListener("click", () => this.toggle());
  }

  start() {
    this.show();
    this.recent.refresh();
    if (this.app.profile.files.some(file => file.live)) this.wait();
  }

  wait() {
    setTimeout(() => this.look(), EVERY);
  }

  get running() {
    return this.app.profile.files.some(file => file.running);
  }

  async look() {
    const {app} = this;
    const busy =
      this.paused || document.hidden || menuIsOpen() || document.querySelector("dialog[open]");
    if (!busy) {
      try {
        const profile = await ask("profile", null);
        const news = profile.generation !== app.profile.generation;
        const was = this.running;
        app.profile = profile;
        this.lost = false;
        if (news) await app.refresh();
        await this.recent.refresh();
        if (was && !this.running) app.say("The program has ended. The profile is complete.");
      } catch {
        this.lost = true;
      }
    }
    this.show();
    // Asks once more after the end, because a program writes its last numbers when it ends.
    if (this.running || busy || this.lost || this.after !== app.profile.generation) {
      if (!this.running && !busy && !this.lost) this.after = app.profile.generation;
      this.wait();
    }
  }

  toggle() {
    if (!this.running) return;
    this.paused = !this.paused;
    this.app.say(this.paused ? "Updates are paused." : "Updates go on.");
    this.show();
  }

  show() {
    const live = this.app.profile.files.some(file => file.live);
    const mode = this.lost ? "lost" : !this.running ? "ended" : this.paused ? "paused" : "on";
    const texts = {on: "Live", paused: "Paused", ended: "Ended", lost: "No connection"};
    const hints = {
      on: "The program is running; the numbers follow it. Click, or p, to pause.",
      paused: "The numbers stand still. Click, or p, to follow the program again.",
      ended: "The program has ended. This is its last state.",
      lost: "The server does not answer; trying again.",
    };
    this.button.hidden = !live;
    this.button.dataset.mode = mode;
    this.button.textContent = texts[mode];
    this.button.title = hints[mode];
    this.button.disabled = mode === "ended";
    this.button.setAttribute("aria-pressed", String(mode === "on"));
  }
}
