// SPDX-License-Identifier: MIT
//
// The models under node and the pages in a browser: node run.js BUILD [WORD...]

import "./model/difference.test.js";
import "./model/flame.test.js";
import "./model/format.test.js";
import "./model/graph.test.js";
import "./model/metrics.test.js";
import "./model/rest.test.js";
import "./model/syntax.test.js";
import "./model/table.test.js";
import "./model/url.test.js";
import "./model/filters.test.js";
import "./model/choice.test.js";
import "./model/rates.test.js";
import "./model/slices.test.js";
import "./pages/tables.js";
import "./pages/flame.js";
import "./pages/addresses.js";
import "./pages/flame_tools.js";
import "./pages/whole.js";
import "./pages/compare.js";
import "./pages/odd.js";
import "./pages/filters.js";
import "./pages/live.js";
import "./pages/pages.js";
import "./pages/secret.js";
import "./pages/directions.js";
import "./pages/share.js";
import "./pages/store.js";
import "./pages/time.js";
import {runAll} from "./suite.js";

const words = process.argv.slice(3).filter(word => word);
await runAll(words, process.env.OURO_BROWSER === "firefox" ? 1 : 2);
