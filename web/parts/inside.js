// SPDX-License-Identifier: MIT
//
// The API inside a page that is one file (`ouro convert x.pb x.html`). The page holds the profile
// and a WebAssembly module made of the server's own sources, so each question has the answer that
// the server would give. Everything stays in memory: the page asks no network.

const profile = document.getElementById("ouro-profile");

/** Is this page one file with the profile inside? */
export const inside = profile !== null;

const NO_SUCH_FILE = 8; // EBADF of WASI

/** @param {string} text base64 of something packed with gzip @returns {Promise<Uint8Array>} */
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text.trim()), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {string} id of an element, which is not needed any more */
function taken(id) {
  const element = document.getElementById(id);
  const text = element.textContent;
  element.remove();
  return text;
}

class Module {
  /** @param {any} exports as src/page/page.c has them */
  constructor(exports) {
    this.exports = exports;
  }

  /** Copies bytes into the module's memory. @param {Uint8Array} bytes @returns {number} where */
  put(bytes) {
    const at = this.exports.room(bytes.length);
    if (!at) throw new Error("This profile takes more memory than the browser gives.");
    const memory = new Uint8Array(this.exports.memory.buffer);
    memory.set(bytes, at);
    memory[at + bytes.length] = 0;
    return at;
  }

  /** @param {number} at of a text with a NUL behind it */
  text(at) {
    const memory = new Uint8Array(this.exports.memory.buffer);
    return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
  }

  /** @param {Uint8Array} bytes columns of all files, one after the other @param {number} count */
  open(bytes, count) {
    if (!this.exports.open(this.put(bytes), bytes.length, count))
      throw new Error(this.text(this.exports.problem()));
  }

  /** @param {string} target @returns {Response} */
  ask(target) {
    const {exports} = this;
    const at = this.put(new TextEncoder().encode(target));
    const status = exports.ask(at);
    exports.drop(at);
    const from = exports.bytes();
    const bytes = new Uint8Array(exports.memory.buffer).slice(from, from + exports.size());
    return new Response(bytes, {status, headers: {"Content-Type": this.text(exports.type())}});
  }
}

async function load() {
  const [code, ...files] = await Promise.all(
    [taken("ouro-module"), ...taken("ouro-profile").trim().split(" ")].map(unpacked),
  );
  // The module has no files: whatever it asks the system for is not there.
  const system = new Proxy({}, {get: () => () => NO_SUCH_FILE});
  const {instance} = await WebAssembly.instantiate(code, {wasi_snapshot_preview1: system});
  const module = new Module(instance.exports);
  instance.exports._initialize();
  module.open(new Uint8Array(await new Blob(files).arrayBuffer()), files.length);
  return module;
}

/** @type {Promise<Module>|null} */
let loaded = null;

/** @param {string} target /api/v1/... @returns {Promise<Response>} */
export async function answerInside(target) {
  return (await (loaded ??= load())).ask(target);
}
