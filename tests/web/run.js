// SPDX-License-Identifier: MIT
//
// The suite in a browser: node run.js BUILD [WORD]

import "./pages/tables.js";
import "./pages/flame.js";
import "./pages/whole.js";
import "./pages/odd.js";
import {runAll} from "./support.js";

await runAll();
