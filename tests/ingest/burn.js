// SPDX-License-Identifier: MIT
//
// A program that a profiling agent of somebody else watches: burn.js AGENT ADDRESS TOKEN. It spends a second of
// processor time in a recursive function, and sends what was recorded when it ends.
"use strict";

const [name, serverAddress, authToken] = process.argv.slice(2);
const agent = require(name).default;
agent.init({serverAddress, authToken, appName: "shop.burner", tags: {build: "7", zone: "a b"}});
agent.startWallProfiling();

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

let sum = 0;
while (process.cpuUsage().user < 1e6) sum += fibonacci(30);
agent.stopWallProfiling().then(() => console.log(sum > 0 ? "sent" : "idle"));
