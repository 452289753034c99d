// SPDX-License-Identifier: MIT
//
// A path as a line of links, root first. A long one shows its beginning and its end; the middle is
// opened with a click.

import {blockLink} from "./block.js";
import {h} from "./dom.js";

const FIRST = 1, LAST = 4;

/** @param {import("../main.js").App} app @param {import("./block.js").Block[]} blocks @param {string} key
 * @param {(index: number) => string|undefined} [target] where each leads to, if not to its page */
export function pathLine(app, blocks, key, target = () => undefined) {
    const link = i => [i ? h("span.arrow", {"aria-hidden": "true"}, "›") : null,
                       h("li", null, blockLink(app, blocks[i], {key: `${key} ${i}`, href: target(i)}))];
    const all = () => blocks.map((_, i) => link(i));
    const list = h("ol.path");
    if (blocks.length <= FIRST + LAST + 1) {
        list.append(...all().flat().filter(Boolean));
        return list;
    }
    const hidden = blocks.length - FIRST - LAST;
    const open = h("button.middle", {type: "button", "aria-label": `Show ${hidden} more blocks of this path`, onclick: () => {
        const parts = all().flat().filter(Boolean);
        list.replaceChildren(...parts);
        list.querySelectorAll("a")[FIRST]?.focus();
    }}, `… ${hidden} …`);
    const head = blocks.slice(0, FIRST).map((_, i) => link(i));
    const tail = blocks.slice(-LAST).map((_, i) => link(blocks.length - LAST + i));
    list.append(...[...head.flat(), h("span.arrow", {"aria-hidden": "true"}, "›"), h("li", null, open), ...tail.flat()].filter(Boolean));
    return list;
}
