// SPDX-License-Identifier: MIT
//
// A client for fble lsp: Microsoft's protocol library over the server's standard input and output. It keeps each
// document as VS Code does and sends edits, and remembers what the server publishes.
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { TextDocument } from "vscode-languageserver-textdocument";
import protocol from "vscode-languageserver-protocol/node";

export class Client {
    constructor(program, folder, options = []) {
        this.folder = folder;
        this.server = spawn(program, ["lsp", ...options], { cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
        this.errors = "";
        this.server.stderr.on("data", (text) => (this.errors += text));
        this.ended = new Promise((resolve) => this.server.on("exit", (code, signal) => resolve(signal ?? code)));
        this.connection = protocol.createProtocolConnection(
            new protocol.StreamMessageReader(this.server.stdout), new protocol.StreamMessageWriter(this.server.stdin));
        this.documents = new Map();
        this.published = new Map();
        this.waiting = [];
        this.connection.onNotification(protocol.PublishDiagnosticsNotification.type, (params) => {
            this.published.set(params.uri, params.diagnostics);
            this.waiting = this.waiting.filter((w) => !w());
        });
        this.connection.onError(() => {});
        this.connection.listen();
    }

    async start() {
        const result = await this.connection.sendRequest(protocol.InitializeRequest.type, {
            processId: process.pid, rootUri: pathToFileURL(this.folder).href, capabilities: {},
            workspaceFolders: null });
        await this.connection.sendNotification(protocol.InitializedNotification.type, {});
        return result;
    }

    uri(name) {
        return pathToFileURL(this.folder + "/" + name).href;
    }

    async open(name, text) {
        const uri = this.uri(name);
        this.documents.set(name, TextDocument.create(uri, "fble", 1, text));
        await this.connection.sendNotification(protocol.DidOpenTextDocumentNotification.type,
            { textDocument: { uri, languageId: "fble", version: 1, text } });
    }

    // `changes` are as in the protocol: { range, text } or { text }.
    async change(name, ...changes) {
        const before = this.documents.get(name);
        const after = TextDocument.update(before, changes, before.version + 1);
        this.documents.set(name, after);
        await this.connection.sendNotification(protocol.DidChangeTextDocumentNotification.type,
            { textDocument: { uri: before.uri, version: after.version }, contentChanges: changes });
    }

    async close(name) {
        this.documents.delete(name);
        await this.connection.sendNotification(protocol.DidCloseTextDocumentNotification.type,
            { textDocument: { uri: this.uri(name) } });
    }

    // The diagnostics of a file, once they satisfy a condition.
    diagnostics(name, good) {
        const uri = this.uri(name);
        return new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(
                `${name} got other diagnostics: ${JSON.stringify(this.published.get(uri))} ${this.errors}`)), 60000);
            const look = () => {
                const now = this.published.get(uri);
                if (!now || !good(now)) return false;
                clearTimeout(late);
                resolve(now);
                return true;
            };
            if (!look()) this.waiting.push(look);
        });
    }

    // The position of the nth occurrence of a word, or a place in it.
    position(name, word, nth = 0, inside = 0) {
        const document = this.documents.get(name);
        let at = -1;
        for (let i = 0; i <= nth; i++) {
            at = document.getText().indexOf(word, at + 1);
            if (at < 0) throw new Error(`${name} has no ${nth + 1} of ${word}`);
        }
        return document.positionAt(at + inside);
    }

    at(name, position) {
        return { textDocument: { uri: this.uri(name) }, position };
    }

    hover(name, ...where) {
        return this.connection.sendRequest(protocol.HoverRequest.type, this.at(name, this.position(name, ...where)));
    }

    definition(name, ...where) {
        return this.connection.sendRequest(protocol.DefinitionRequest.type,
            this.at(name, this.position(name, ...where)));
    }

    symbols(name) {
        return this.connection.sendRequest(protocol.DocumentSymbolRequest.type,
            { textDocument: { uri: this.uri(name) } });
    }

    async stop() {
        await this.connection.sendRequest(protocol.ShutdownRequest.type);
        await this.connection.sendNotification(protocol.ExitNotification.type);
        const status = await this.ended;
        this.connection.dispose();
        return status;
    }
}
