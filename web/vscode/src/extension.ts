// Starts gec lsp and hands it documents; all else is the server's.
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

export function serverOptions(settings: vscode.WorkspaceConfiguration): ServerOptions {
  const [command, ...args] = settings.get<string[]>("command", ["gec", "lsp"]);
  return { command: command ?? "gec", args };
}

export function clientOptions(settings: vscode.WorkspaceConfiguration): LanguageClientOptions {
  const languages = settings.get<string[]>("languages", ["plaintext", "markdown"]);
  return {
    documentSelector: languages.flatMap((language) => [
      { language, scheme: "file" },
      { language, scheme: "untitled" },
      { language, scheme: "vscode-userdata" },
    ]),
    synchronize: { configurationSection: "gec" },
    diagnosticCollectionName: "gec",
  };
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("gec");
  client = new LanguageClient("gec", "gec", serverOptions(settings), clientOptions(settings));
  try {
    await client.start();
  } catch {
    void vscode.window.showErrorMessage(
      "gec cannot be started. Install it (pip install '.[lsp]' in its folder), and set gec.command to its path.",
    );
  }
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  if (old?.isRunning()) {
    await old.stop();
  }
}

async function fixSure(): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (client?.isRunning() && document) {
    const confidence = vscode.workspace.getConfiguration("gec").get<number>("fixConfidence", 0.9);
    await client.sendRequest("workspace/executeCommand", {
      command: "gec.fixAll",
      arguments: [document.uri.toString(), { confidence }],
    });
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("gec.fixSure", fixSure),
    vscode.commands.registerCommand("gec.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("gec.command") || event.affectsConfiguration("gec.languages")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
