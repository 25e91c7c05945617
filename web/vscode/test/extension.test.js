// The compiled extension with stand-ins for the editor and its language client: which server it
// starts, for which documents, and what its commands ask the server for. No editor is needed.
const assert = require("node:assert");
const Module = require("node:module");
const test = require("node:test");
const manifest = require("../package.json");

const settings = {};
const commands = {};
const clients = [];
const shown = [];
let configurationChanged;
let failing = false;

const vscode = {
  workspace: {
    getConfiguration: () => ({ get: (name, fallback) => settings[name] ?? fallback }),
    onDidChangeConfiguration: (listener) => ((configurationChanged = listener), { dispose() {} }),
  },
  window: {
    activeTextEditor: { document: { uri: { toString: () => "file:///a.md" } } },
    showErrorMessage: (message) => shown.push(message),
  },
  commands: {
    registerCommand: (name, run) => ((commands[name] = run), { dispose() {} }),
  },
};

class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { id, server, options, running: false, requests: [] });
    clients.push(this);
  }
  async start() {
    if (failing) throw new Error("ENOENT");
    this.running = true;
  }
  async stop() {
    this.running = false;
  }
  isRunning() {
    return this.running;
  }
  async sendRequest(method, params) {
    this.requests.push([method, params]);
  }
}

const load = Module._load;
Module._load = (name, ...rest) => {
  if (name === "vscode") return vscode;
  if (name === "vscode-languageclient/node") return { LanguageClient };
  return load(name, ...rest);
};
const extension = require("../out/extension.js");

test("it starts gec lsp for the languages of the settings", async () => {
  settings.languages = ["markdown"];
  await extension.activate({ subscriptions: [] });
  assert.deepEqual(clients[0].server, { command: "gec", args: ["lsp"] });
  assert.ok(clients[0].isRunning());
  const selected = clients[0].options.documentSelector;
  assert.deepEqual(selected.map((one) => one.scheme), ["file", "untitled", "vscode-userdata"]);
  assert.ok(selected.every((one) => one.language === "markdown"));
});

test("it registers the commands of its manifest", () => {
  const named = manifest.contributes.commands.map((one) => one.command);
  assert.deepEqual(Object.keys(commands).sort(), named.sort());
});

test("fixing what is sure asks the server", async () => {
  settings.fixConfidence = 0.8;
  await commands["gec.fixSure"]();
  assert.deepEqual(clients.at(-1).requests, [
    [
      "workspace/executeCommand",
      { command: "gec.fixAll", arguments: ["file:///a.md", { confidence: 0.8 }] },
    ],
  ]);
});

test("another command line starts another server", async () => {
  settings.command = ["/venv/bin/gec", "lsp", "--model", "en-large"];
  await configurationChanged({ affectsConfiguration: (name) => name === "gec.command" });
  assert.equal(clients.length, 2);
  assert.ok(!clients[0].isRunning());
  assert.deepEqual(clients[1].server, {
    command: "/venv/bin/gec",
    args: ["lsp", "--model", "en-large"],
  });
  await configurationChanged({ affectsConfiguration: () => false });
  assert.equal(clients.length, 2);
});

test("a server that cannot be started is told", async () => {
  failing = true;
  await commands["gec.restart"]();
  assert.match(shown[0], /set gec.command/);
  failing = false;
  await extension.deactivate();
  assert.ok(clients.every((one) => !one.isRunning()));
});
