// SPDX-License-Identifier: MIT
//
// A profile that is still being written: asks once a second for news, and shows the same page
// with new numbers. The mark is a button, because readers must be able to stop content that moves
// by itself. A store is followed when the reader wants it, which the address says.

import {changed, chosen} from "../model/url.js";
import {ask} from "./client.js";
import {menuIsOpen} from "./menu.js";
import {Recent} from "./recent.js";

const EVERY = 1000; // milliseconds
const EVERY_STORE = 2000; // the store is shared with those who write to it

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
    if (this.ofStore || this.app.profile.files.some(file => file.live)) this.wait();
  }

  wait() {
    setTimeout(() => (this.ofStore ? this.follow() : this.look()), this.ofStore ? EVERY_STORE : EVERY);
  }

  get ofStore() {
    return Boolean(this.app.profile.store);
  }

  get busy() {
    return document.hidden || menuIsOpen() || Boolean(document.querySelector("dialog[open]"));
  }

  /** What is new in the store; a page of one choice is drawn again only if that changed. */
  async follow() {
    const {app} = this;
    if (app.state.follow && !this.busy) {
      try {
        await this.askStore();
        this.lost = false;
      } catch {
        this.lost = true;
      }
    }
    this.show();
    this.wait();
  }

  async askStore() {
    const {app} = this;
    if (app.state.page === "fleet") return app.refresh();
    const query = chosen(app.state);
    const asked = query.toString();
    query.set("fresh", String(EVERY_STORE / 1000));
    const profile = await ask("profile", query);
    if (asked !== app.profileOf || profile.generation === app.profile.generation) return;
    app.profile = profile;
    await app.refresh();
  }

  get running() {
    return this.app.profile.files.some(file => file.running);
  }

  async look() {
    const {app} = this;
    const busy = this.paused || this.busy;
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

  toggleFollow() {
    const {app} = this;
    const follow = app.state.follow ? "" : "yes";
    app.say(follow ? "The page follows the store." : "The page stands still.");
    return app.go({...app.state, follow}, {replace: true});
  }

  toggle() {
    if (this.ofStore) return this.toggleFollow();
    if (!this.running) return;
    this.paused = !this.paused;
    this.app.say(this.paused ? "Updates are paused." : "Updates go on.");
    this.show();
  }

  showFollow() {
    const on = Boolean(this.app.state.follow);
    const mode = on && this.lost ? "lost" : on ? "on" : "paused";
    const texts = {on: "Following", paused: "Follow", lost: "No answer"};
    const hints = {
      on: "The page shows what comes into the store. Click, or p, to stop.",
      paused: "The numbers stand still. Click, or p, to follow what comes into the store.",
      lost: "The store does not answer; trying again.",
    };
    this.button.hidden = false;
    this.button.disabled = false;
    this.button.dataset.mode = mode;
    this.button.dataset.store = "yes";
    this.button.textContent = texts[mode];
    this.button.title = hints[mode];
    this.button.setAttribute("aria-pressed", String(on));
  }

  show() {
    if (this.ofStore) return this.showFollow();
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
