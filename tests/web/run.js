// SPDX-License-Identifier: MIT
//
// The models under node and the pages in a browser: node run.js BUILD [WORD...]

import "./model/flame.test.js";
import "./model/format.test.js";
import "./model/rest.test.js";
import "./model/table.test.js";
import "./model/url.test.js";
import "./pages/tables.js";
import "./pages/flame.js";
import "./pages/whole.js";
import "./pages/odd.js";
import "./pages/secret.js";
import "./pages/share.js";
import {runAll} from "./suite.js";

const words = process.argv.slice(3).filter(word => word);
await runAll(words, process.env.OURO_BROWSER === "firefox" ? 1 : 2);
