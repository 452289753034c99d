// SPDX-License-Identifier: MIT
//
// fble lsp from outside: node test_lsp.js FBLE [WORD...]
//
// What the server publishes is compared with `fble check -`, positions with those of VS Code's own TextDocument, and
// definitions with the text that stands where they lead to.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TextDocument } from "vscode-languageserver-textdocument";
import protocol from "vscode-languageserver-protocol/node";
import { Client } from "./client.js";

const FBLE = path.resolve(process.argv[2]);
const words = process.argv.slice(3);
const HOST = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const STD = path.join(HOST, "std/Std");
process.env.FBLE_PACKAGE_PATH = HOST;
const seed = Number(process.env.OURO_SEED ?? Date.now() % 1e9);
const cases = [];
const test = (name, run) => cases.push({ name, run });

// A linear congruence: the same in every version of node.
let state = seed;
const dice = (n) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * n);
};

const severities = { 1: "error", 2: "warning" };

// What the command says about a text, at the positions that VS Code would give its places.
function checked(text, folder, ...options) {
    const done = spawnSync(FBLE, ["check", "--json", ...options, "-"], { input: text, cwd: folder });
    const bytes = Buffer.from(text);
    const starts = [0];
    for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10) starts.push(i + 1);
    const document = TextDocument.create("file:///a", "fble", 1, text);
    return JSON.parse(done.stdout).diagnostics.filter((d) => d.file === "<stdin>").map((d) => {
        const offset = bytes.subarray(0, starts[d.line - 1] + d.column - 1).toString().length;
        return { start: document.positionAt(offset), severity: d.severity,
                 message: d.message + (d.hint ? "\nhint: " + d.hint : "") };
    });
}

const asChecked = (diagnostics) =>
    diagnostics.map((d) => ({ start: d.range.start, severity: severities[d.severity], message: d.message }));

async function session(folder, options, run) {
    const client = new Client(FBLE, folder, options);
    try {
        await client.start();
        await run(client);
        assert.equal(await client.stop(), 0, client.errors);
    } finally {
        client.server.kill("SIGKILL");
    }
    assert.equal(client.errors, "");
}

const shown = (hover) => /```fble\n([^]*)\n```/.exec(hover.contents.value)[1];
const lines = (...list) => list.join("\n") + "\n";

// The text at a location, of the document if it is open.
function textAt(client, location) {
    const file = fileURLToPath(location.uri);
    const open = client.documents.get(path.relative(client.folder, file));
    const text = open ? open.getText() : fs.readFileSync(file, "utf8");
    return TextDocument.create(location.uri, "fble", 1, text).getText(location.range);
}

// ---------------------------------------------------------------- life

test("the_server_says_what_it_can_do_and_ends_when_told", async (folder) => {
    const client = new Client(FBLE, folder, ["--stdio"]);
    const { capabilities } = await client.start();
    assert.deepEqual([capabilities.textDocumentSync.change, capabilities.hoverProvider, capabilities.definitionProvider,
        capabilities.documentSymbolProvider, capabilities.positionEncoding], [2, true, true, true, "utf-16"]);
    assert.equal(await client.stop(), 0);
});

test("an_editor_that_goes_away_ends_it_with_status_1", async (folder) => {
    for (const leave of [(c) => c.server.stdin.end(),
        (c) => c.connection.sendNotification(protocol.ExitNotification.type)]) {
        const client = new Client(FBLE, folder);
        await client.start();
        await leave(client);
        assert.equal(await client.ended, 1);
    }
});

// ---------------------------------------------------------------- diagnostics

test("errors_come_as_one_types_and_go_when_they_are_repaired", async (folder) => {
    await session(folder, [], async (client) => {
        await client.open("A.fble", "x = y; x;");
        const [error] = await client.diagnostics("A.fble", (d) => d.length === 1);
        assert.deepEqual([error.range, error.severity, error.source],
            [{ start: { line: 0, character: 4 }, end: { line: 0, character: 5 } }, 1, "fble"]);
        await client.change("A.fble", { range: error.range, text: "*()()" });
        await client.diagnostics("A.fble", (d) => d.length === 0);
        await client.change("A.fble", { text: "x = *()(); *()();" });
        assert.deepEqual((await client.diagnostics("A.fble", (d) => d.length === 1)).map((d) => d.severity), [2]);
        await client.change("A.fble", { text: "a; b;\nc(;\n*()();" });
        await client.diagnostics("A.fble", (d) => d.length === 2);
        await client.close("A.fble");
        await client.diagnostics("A.fble", (d) => d.length === 0);
    });
});

test("what_is_published_is_what_check_says_after_any_edits", async (folder) => {
    const pieces = ["a", "Ünï", "漢", "😀", "'q 😀 x'", "\n", "\r\n", "\r", "# 😀 c\n", "; ", " = ", "*()", "()", "T@ ",
        "x = *()(); ", "y = x; ", "/B%", ".", "{", "}", "(", ")", "x", "\t", "'"];
    fs.writeFileSync(path.join(folder, "B.fble"), "*()();");
    await session(folder, [], async (client) => {
        let text = lines("U@ = *();", "😀 = U@();", "x = 😀, 'ä b' = 😀;", "@(x, 'ä b', z: q, w: 漢);");
        await client.open("A.fble", text);
        for (let round = 0; round < 40; round++) {
            const changes = [];
            let document = TextDocument.create("a", "fble", 1, client.documents.get("A.fble").getText());
            for (let n = 1 + dice(3); n--;) {
                const length = document.getText().length;
                // Not within a surrogate pair or a CR LF, which no editor does.
                const whole = (at) => at > 0 &&
                    /^(?:[\uD800-\uDBFF][\uDC00-\uDFFF]|\r\n)/.test(document.getText().slice(at - 1)) ? at - 1 : at;
                let [from, until] = [whole(dice(length + 1)), whole(dice(length + 1))].sort((a, b) => a - b);
                until = Math.min(until, whole(from + dice(4)));
                if (until < from) until = from;
                const change = { text: pieces[dice(pieces.length)] };
                if (dice(20)) change.range = { start: document.positionAt(from), end: document.positionAt(until) };
                else change.text = text;
                changes.push(change);
                document = TextDocument.update(document, [change], 2 + round);
            }
            await client.change("A.fble", ...changes);
            const now = client.documents.get("A.fble").getText();
            const want = JSON.stringify(checked(now, folder, "-m", "/A%"));
            await client.diagnostics("A.fble", (d) => JSON.stringify(asChecked(d)) === want).catch((e) => {
                throw new Error(`${e.message}\nwanted ${want}\nfor ${JSON.stringify(now)}`);
            });
            if (now.length > 400) await client.change("A.fble", { text });
        }
    });
});

test("unsaved_texts_stand_in_for_files_and_dependents_are_checked_again", async (folder) => {
    fs.writeFileSync(path.join(folder, "B.fble"), "@(x: *()());");
    await session(folder, [], async (client) => {
        await client.open("A.fble", "x .= /B%; x;");
        await client.diagnostics("A.fble", (d) => d.length === 0);
        await client.open("B.fble", "@(y: *()());");
        await client.diagnostics("A.fble", (d) => d.length === 1);
        await client.change("B.fble", { text: "@(x: *()(), y: z);" });
        await client.diagnostics("B.fble", (d) => d.length === 1);
        await client.diagnostics("A.fble", (d) => d.length === 0);
        await client.close("B.fble"); // the file counts again
        await client.diagnostics("B.fble", (d) => d.length === 0);
        await client.change("A.fble", { text: "y .= /B%; y;" });
        await client.diagnostics("A.fble", (d) => d.length === 1);
        await client.open("C/D.fble", "*()();"); // a module that is no file yet
        await client.change("A.fble", { text: "/C/D%;" });
        await client.diagnostics("A.fble", (d) => d.length === 0);
    });
});

test("errors_of_files_that_are_not_open_are_shown_at_them", async (folder) => {
    fs.writeFileSync(path.join(folder, "B b.fble"), "wrong;");
    await session(folder, [], async (client) => {
        await client.open("A.fble", "/'B b'%;");
        const [error] = await client.diagnostics("B b.fble", (d) => d.length === 1);
        assert.match(error.message, /wrong is not defined/);
        fs.writeFileSync(path.join(folder, "B b.fble"), "*()();");
        await client.connection.sendNotification(protocol.DidChangeWatchedFilesNotification.type, { changes: [] });
        await client.diagnostics("B b.fble", (d) => d.length === 0);
    });
});

test("modules_are_those_of_the_folder_that_has_what_they_mention", async (folder) => {
    for (const name of ["src/Lib/A", "src/Lib/Deep/B", "src/C"])
        (fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true }),
         fs.writeFileSync(path.join(folder, name + ".fble"), "@(x: *()());"));
    await session(folder, [], async (client) => {
        await client.open("src/Lib/Deep/E.fble", "a = /Lib/A%, b = /Lib/Deep/B%, c = /C%; @(a, b, c);");
        await client.diagnostics("src/Lib/Deep/E.fble", (d) => d.length === 0);
        // A private type of its own package: the module's path is /Lib/F%.
        await client.open("src/Lib/F.fble", "T@ = *().%(@/Lib%); c = /C%; @(t: T@(), c);");
        await client.diagnostics("src/Lib/F.fble", (d) => d.length === 0);
    });
    await session(folder, ["-I", "src"], async (client) => {
        await client.open("src/Lib/G.fble", "T@ = *().%(@/Lib%); T@();");
        await client.diagnostics("src/Lib/G.fble", (d) => d.length === 0);
        await client.open("src/G.fble", "T@ = *().%(@/Lib%); T@();");
        await client.diagnostics("src/G.fble", (d) => d.length === 1);
    });
});

test("a_header_is_a_document_too", async (folder) => {
    await session(folder, [], async (client) => {
        await client.open("H.fble.@", "U@ = *(); (U@) { V@; } f; @(f);");
        await client.diagnostics("H.fble.@", (d) => d.length === 1);
        await client.change("H.fble.@", { text: "U@ = *(); (U@) { U@; } f; @(f);" });
        await client.diagnostics("H.fble.@", (d) => d.length === 0);
    });
});

// ---------------------------------------------------------------- definitions and types

const MAIN = lines(
    "# A module.",
    "U@ = *(); u = U@();",
    "",
    "# Yes or no.",
    "# Of two lines.",
    "Flag@ = +(U@ on, U@ off);",
    "Id, T@(.Type@), 'weiß 😀'(.other) .= /Lib/B%;",
    "Pick = <@ A@>(A@ a, A@ b, Flag@ flag) { flag.?(on: a, : b); };",
    "'ä 😀' = Flag@(on: u); sum = Pick(u, 'weiß 😀', 'ä 😀');",
    "S@ = *(Flag@ left, U@ right);",
    "s = S@('ä 😀', sum).@(right: u);",
    "L = /Lib/B%; T@ t = L.make;",
    "@(Pick, x: s.left, Id, y: L.other, t, z: { Flag@ f := Id; f; });");

async function withModules(folder, run) {
    fs.mkdirSync(path.join(folder, "Lib"));
    fs.writeFileSync(path.join(folder, "Lib/A.fble"), lines("# The base.", "U@ = *(); ", "# Itself.",
        "((+(U@ on, U@ off)) { *(); }) { *(); }",
        "Id = ((+(U@ on, U@ off)) { *(); } f) { f(+(U@ on, U@ off)(on: U@())); }; @(Id, deep: U@());"));
    fs.writeFileSync(path.join(folder, "Lib/B.fble"),
        lines("Id, d(.deep) .= /Lib/A%;", "Type@ = *(*() 'a''b');", "make = Type@(d);",
            "@(Id, Type@, other: d, make);"));
    await session(folder, [], async (client) => {
        await client.open("M.fble", MAIN.replace("{ Flag@ f := Id; f; }", "{ Flag@ _f := Id; u; }"));
        assert.deepEqual((await client.diagnostics("M.fble", () => true)).filter((d) => d.severity === 1), []);
        await run(client);
    });
}

test("a_name_leads_to_where_it_was_defined", async (folder) => {
    await withModules(folder, async (client) => {
        const leads = async (where, file, line, text) => {
            const found = await client.definition("M.fble", ...where);
            assert.ok(found, `${where} leads nowhere`);
            assert.deepEqual([path.relative(folder, fileURLToPath(found.uri)), found.range.start.line + 1,
                textAt(client, found)], [file, line, text], String(where));
        };
        await leads(["u, 'weiß"], "M.fble", 2, "u");
        await leads(["Flag@ flag"], "M.fble", 6, "Flag@");
        await leads(["flag.?", 0, 2], "M.fble", 8, "flag");
        await leads(["A@ b"], "M.fble", 8, "A@");
        await leads(["on: a"], "M.fble", 6, "on");
        await leads(["on: u"], "M.fble", 6, "on");
        await leads(["'ä 😀');"], "M.fble", 9, "'ä 😀'");
        await leads(["'ä 😀', sum", 0, 5], "M.fble", 9, "'ä 😀'");
        await leads(["'weiß 😀', "], "Lib/A.fble", 5, "deep"); // through B, where it is other and d
        await leads([".other", 1, 1], "Lib/A.fble", 5, "deep");
        await leads(["T@ t"], "Lib/B.fble", 2, "Type@");
        await leads(["Type@)"], "Lib/B.fble", 2, "Type@");
        await leads(["Id, T@"], "Lib/A.fble", 5, "Id");
        await leads(["Id, y"], "Lib/A.fble", 5, "Id");
        await leads(["left, Id"], "M.fble", 10, "left");
        await leads(["right: u"], "M.fble", 10, "right");
        await leads(["make;"], "Lib/B.fble", 3, "make");
        await leads(["/Lib/B%", 1, 3], "Lib/B.fble", 1, "");
        await leads(["x: s"], "M.fble", 13, "x");
        await leads(["L.other", 0, 1], "M.fble", 12, "L"); // right behind it
        assert.equal(await client.definition("M.fble", "# A"), null);
    });
});

test("names_of_a_package_lead_into_it", async (folder) => {
    await session(folder, ["-p", "std"], async (client) => {
        await client.open("A.fble", "Fold .= /Std/List%; Io@ .= /Std/Io%; S = /Std/String%; @(Fold, Io@, s: S.Strs);");
        assert.deepEqual(await client.diagnostics("A.fble", () => true), []);
        for (const [word, file] of [["Fold, Io", "List"], ["Io@ .=", "Io"], ["Strs", "String"], ["/Std/Io%", "Io"]]) {
            const found = await client.definition("A.fble", word);
            assert.equal(fileURLToPath(found.uri), path.join(fs.realpathSync(STD), file + ".fble"), word);
        }
        assert.match((await client.hover("A.fble", "Fold, Io")).contents.value, /Goes through the elements/);
    });
});

test("a_request_can_be_cancelled_by_the_library_and_the_session_goes_on", async (folder) => {
    await session(folder, [], async (client) => {
        await client.open("A.fble", "x = *()(); x;");
        const source = new protocol.CancellationTokenSource();
        const answer = client.connection.sendRequest(protocol.HoverRequest.type,
            client.at("A.fble", { line: 0, character: 0 }), source.token);
        source.cancel(); // in time or not: either is an answer
        await answer.then((hover) => assert.ok(hover.contents), (error) => assert.equal(error.code, -32800));
        assert.ok((await client.hover("A.fble", "x;")).contents);
    });
});

test("hover_shows_the_type_and_the_comment", async (folder) => {
    await withModules(folder, async (client) => {
        const shows = async (where, text, comment) => {
            const found = await client.hover("M.fble", ...where);
            assert.ok(found, `${where} is nothing`);
            assert.equal(shown(found), text, String(where));
            assert.equal(found.contents.value.split("```")[2].trim(), comment ?? "", String(where));
        };
        await shows(["Flag@ flag"], "Flag@ = +(U@ on, U@ off)", "Yes or no.\nOf two lines.");
        await shows(["Pick(u"], "<@ A@>(A@, A@, Flag@) { A@; } Pick");
        await shows(["flag.?"], "Flag@ flag");
        await shows(["on: a"], "U@ on");
        await shows(["sum ="], "U@ sum");
        await shows(["Id, y"], "((+(U@ on, U@ off)) { *(); }) { *(); } Id", "Itself.");
        await shows(["s.left"], "S@ s");
        await shows(["left, Id"], "Flag@ left");
        await shows(["/Lib/A%".replace("A", "B"), 1],
            "*(((+(U@ on, U@ off)) { *(); }) { *(); } Id, @<Type@> Type@, U@ other, Type@ make)");
        await shows(["(u, 'weiß"], "U@"); // the call
        await shows([".@(right", 0, 1], "S@");
        await shows([".?(on", 0, 1], "A@");
        const range = (await client.hover("M.fble", "(u, 'weiß")).range;
        assert.equal(client.documents.get("M.fble").getText(range), "Pick(u, 'weiß 😀', 'ä 😀')");
    });
});

test("what_has_not_changed_keeps_its_answers_while_the_text_does_not_parse", async (folder) => {
    await session(folder, [], async (client) => {
        await client.open("A.fble",
            lines("U@ = *();", "# The one.", "unit = U@();", "first = unit;", "last = first;", "last;"));
        await client.diagnostics("A.fble", (d) => d.length === 0);
        const at = client.position("A.fble", "first = ");
        await client.change("A.fble", { range: { start: at, end: at }, text: "half = (\n😀" });
        await client.diagnostics("A.fble", (d) => d.length > 0);
        const leads = async (...where) => {
            const found = await client.definition("A.fble", ...where);
            return found && [textAt(client, found), found.range.start.line];
        };
        assert.deepEqual(await leads("unit ="), ["unit", 2]);
        assert.deepEqual(await leads("unit;"), ["unit", 2]); // from behind the change to before it
        assert.equal(await leads("first;"), null); // that stands beside the change
        assert.deepEqual(await leads("last;"), ["last", 5]);
        assert.equal(await leads("half"), null);
        const hover = await client.hover("A.fble", "unit;");
        assert.match(hover.contents.value, /U@ unit[^]*The one/);
        assert.equal(client.documents.get("A.fble").getText(hover.range), "unit");
    });
});

// Names are found again by another rule than the server's: a word, perhaps with its @.
test("every_name_of_the_library_leads_to_that_name", async () => {
    for (const name of ["List.fble", "String.fble", "Io/Console.fble", "Map.fble"]) {
        await session(STD, [], async (client) => {
            const text = fs.readFileSync(path.join(STD, name), "utf8");
            await client.open(name, text);
            assert.deepEqual(await client.diagnostics(name, () => true), []);
            const blank = (found) => " ".repeat(found.length);
            const bare = text.replace(/#.*/g, blank).replace(/'(?:[^']|'')*'/g, blank).replace(/\/[\w/]+%/g, blank);
            const asked = [];
            for (const found of bare.matchAll(/(?<![|\w])[A-Za-z_]\w*@?/g)) {
                const position = client.documents.get(name).positionAt(found.index);
                asked.push([found[0], position, client.connection.sendRequest(protocol.DefinitionRequest.type,
                    client.at(name, position))]);
            }
            assert.ok(asked.length > 100, name);
            for (const [word, position, answer] of asked) {
                const location = await answer;
                assert.ok(location, `${name} ${JSON.stringify(position)} ${word} leads nowhere`);
                assert.equal(textAt(client, location), word, `${name} ${JSON.stringify(position)}`);
            }
        });
    }
});

test("every_place_of_an_expression_has_a_type", async () => {
    await session(STD, [], async (client) => {
        const text = fs.readFileSync(path.join(STD, "List.fble"), "utf8");
        await client.open("List.fble", text);
        const asked = [];
        for (let i = 0; i < 300; i++) {
            const offset = dice(text.length);
            const position = client.documents.get("List.fble").positionAt(offset);
            asked.push([offset, client.connection.sendRequest(protocol.HoverRequest.type,
                client.at("List.fble", position))]);
        }
        let types = 0;
        for (const [offset, answer] of asked) {
            const hover = await answer;
            if (!hover) continue;
            const document = client.documents.get("List.fble");
            assert.ok(document.offsetAt(hover.range.start) <= offset && offset <= document.offsetAt(hover.range.end));
            assert.doesNotMatch(hover.contents.value, /not known/, text.slice(offset - 20, offset + 20));
            types++;
        }
        assert.ok(types > 150, `${types}`);
    });
});

// ---------------------------------------------------------------- symbols

test("symbols_are_the_definitions_with_those_inside_of_them", async (folder) => {
    await session(folder, [], async (client) => {
        await client.open("A.fble", lines("U@ = *(); B@ = +(U@ t), C@ = (U@) { U@; };",
            "(U@) { U@; }", "Id = (U@ u) {", "  inner = u; more = { deep = inner; deep; };", "  more;", "};",
            "u = U@(); U@ far; @(Id, u, far);"));
        const tree = (list) => list.map((s) => [s.name, s.kind, ...(s.children.length ? [tree(s.children)] : [])]);
        const symbols = await client.symbols("A.fble");
        assert.deepEqual(tree(symbols), [["U@", 23], ["B@", 10], ["C@", 5],
            ["Id", 12, [["inner", 13], ["more", 13, [["deep", 13]]]]], ["u", 13], ["far", 13]]);
        const document = client.documents.get("A.fble");
        const look = (list) => list.forEach((s) => {
            assert.equal(document.getText(s.selectionRange), s.name);
            assert.ok(document.getText(s.range).includes(s.name));
            look(s.children);
        });
        look(symbols);
        assert.ok(document.getText(symbols[3].range).startsWith("(U@) { U@; }\nId = (U@ u) {"));
        assert.ok(document.getText(symbols[3].range).endsWith("more;\n}"));
        await client.change("A.fble", { text: "U@ = *(); oops" });
        assert.deepEqual((await client.symbols("A.fble")).length, 6); // the last list
    });
});

// ---------------------------------------------------------------- misuse

// A server that is told bytes, and everything that it wrote.
function told(folder, ...parts) {
    const done = spawnSync(FBLE, ["lsp"], { input: Buffer.concat(parts.map((p) => Buffer.from(p))), cwd: folder,
        timeout: 60000 });
    const replies = [];
    for (let rest = done.stdout; rest.length;) {
        const header = /^Content-Length: (\d+)\r\n\r\n/.exec(rest.subarray(0, 40).toString("latin1"));
        assert.ok(header, rest.toString().slice(0, 100));
        const end = header[0].length + Number(header[1]);
        replies.push(JSON.parse(rest.subarray(header[0].length, end)));
        rest = rest.subarray(end);
    }
    return { status: done.status ?? done.signal, replies, errors: done.stderr.toString() };
}

const framed = (value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};
const request = (id, method, params) => framed({ jsonrpc: "2.0", id, method, params });
const notify = (method, params) => framed({ jsonrpc: "2.0", method, params });
const START = request(1, "initialize", {});
const STOP = request("end", "shutdown") + notify("exit");

test("requests_out_of_turn_are_refused", async (folder) => {
    const nowhere = { textDocument: { uri: "file:///x.fble" }, position: { line: 0, character: 0 } };
    const { status, replies } = told(folder, request(7, "textDocument/hover", {}), START, request(2, "no/such"),
        request(3, "textDocument/hover", nowhere),
        request(4, "textDocument/hover", { position: {} }), request(5, "textDocument/didOpen", {}),
        notify("no/such"), request("s", "shutdown"), request(6, "textDocument/hover", {}), notify("exit"));
    assert.equal(status, 0);
    assert.deepEqual(replies.map((r) => [r.id, r.error?.code]), [[7, -32002], [1, undefined], [2, -32601], [3, -32602],
        [4, -32602], [5, -32601], ["s", undefined], [6, -32600]]);
});

test("a_request_that_waits_can_be_cancelled", async (folder) => {
    const uri = pathToFileURL(folder + "/A.fble").href;
    const document = { uri, languageId: "fble", version: 1 };
    const at = { textDocument: { uri }, position: { line: 0, character: 0 } };
    const { status, replies } = told(folder, START,
        notify("textDocument/didOpen", { textDocument: { ...document, text: "x = *()(); x;" } }),
        request(2, "textDocument/hover", at), request("3", "textDocument/hover", at),
        request(3, "textDocument/hover", at), notify("$/cancelRequest", { id: "3" }),
        notify("$/cancelRequest", { id: 9 }), notify("$/cancelRequest", {}), STOP);
    assert.equal(status, 0);
    const of = Object.fromEntries(replies.filter((r) => "id" in r).map((r) => [JSON.stringify(r.id), r]));
    assert.equal(of['"3"'].error.code, -32800);
    assert.ok(of["2"].result.contents && of["3"].result.contents);
});

test("what_is_no_json_and_what_makes_no_sense_is_survived", async (folder) => {
    const uri = pathToFileURL(folder + "/A.fble").href;
    const odd = ["", "{", "nul", "[]", "[1]", "17", "\"x\"", "{}", "{\"id\":[]}", "{\"method\":5}", "\xff\xfe",
        "{\"id\":1}",
        "{\"result\":1,\"id\":4}", "[".repeat(100000), "{\"method\":\"" + "x".repeat(100000) + "\"}"];
    const values = [null, 5, -1, 1e300, "x", [], {}, [{}], { uri: 5 }, { uri }, { start: {}, end: {} }, true];
    const parts = [START, ...odd.map(framed)];
    const methods = ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/hover",
        "textDocument/definition", "textDocument/documentSymbol", "textDocument/didSave", "$/cancelRequest",
        "initialize"];
    const some = () => values[dice(values.length)];
    for (let i = 0; i < 400; i++) {
        const position = dice(3) ? { line: dice(4), character: dice(40) } : some();
        const text = dice(3) ? "x = 'a; y;\n".slice(dice(8)) : some();
        const change = dice(2) ? { text } : { range: { start: position, end: position }, text };
        const sound = { textDocument: dice(4) ? { uri, text } : some(), position,
            contentChanges: dice(3) ? [change] : some() };
        const method = methods[dice(methods.length)], params = dice(9) ? sound : some();
        parts.push(dice(2) ? request(i + 10, method, params) : notify(method, params));
    }
    parts.push(STOP);
    const { status, replies, errors } = told(folder, ...parts);
    assert.deepEqual([status, errors], [0, ""]);
    assert.equal(replies.at(-1).id, "end");
    assert.equal(replies.filter((r) => r.error?.code === -32700).length, 5);
});

test("input_that_is_no_message_ends_it_with_a_reason", async (folder) => {
    for (const [text, reason] of [["hello\r\n\r\n", /no Content-Length/], ["x".repeat(5000), /header of a message/],
        ["Content-Length: x\r\n\r\n", /no Content-Length/], ["Content-Length: -5\r\n\r\n", /no Content-Length/],
        ["Content-Length: 99999999999999999999999\r\n\r\n", /longer than 64 MiB/],
        ["Content-Length: 67108865\r\n\r\n", /longer than 64 MiB/], ["Content-Length:\r\n\r\n", /no Content-Length/]]) {
        const { status, errors, replies } = told(folder, START, text, STOP);
        assert.equal(status, 5, text.slice(0, 60));
        assert.match(errors, reason);
        assert.equal(replies.length, 1);
    }
    const header = "content-length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}";
    assert.equal(told(folder, header, START, STOP).status, 0);
    assert.equal(told(folder, START, "Content-Length: 100\r\n\r\n{").status, 1); // the end in the middle
});

test("random_bytes_in_a_session_never_crash_it", async (folder) => {
    const uri = pathToFileURL(folder + "/A.fble").href;
    const document = { uri, languageId: "fble", version: 1, text: MAIN };
    const good = Buffer.from(START + notify("textDocument/didOpen", { textDocument: document }) +
        request(2, "textDocument/documentSymbol", { textDocument: { uri } }) +
        request(3, "textDocument/hover", { textDocument: { uri }, position: { line: 8, character: 12 } }) + STOP);
    for (let round = 0; round < 60; round++) {
        const bytes = Buffer.from(good);
        for (let n = 1 + dice(6); n--;)
            bytes[dice(bytes.length)] = dice(2) ? dice(256) : "{}[]\",:\r\n0"[dice(10)].charCodeAt();
        const { status } = told(folder, dice(4) ? bytes : bytes.subarray(0, dice(bytes.length)));
        assert.ok([0, 1, 5].includes(status), `${status}: ${bytes.toString("latin1")}`);
    }
});

// ---------------------------------------------------------------- running

let bad = 0, good = 0;
for (const { name, run } of cases.filter((c) => !words.length || words.some((w) => c.name.includes(w)))) {
    const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "ouro-suite-")));
    try {
        await run(folder);
        console.log(`ok ${name}`);
        good++;
    } catch (problem) {
        console.log(`not ok ${name}\n    seed ${seed}\n${String(problem.stack ?? problem).replace(/^/gm, "    ")}`);
        bad++;
    } finally {
        fs.rmSync(folder, { recursive: true, force: true });
    }
}
console.log(`# ${good} passed, ${bad} failed`);
process.exit(bad || !good ? 1 : 0);
