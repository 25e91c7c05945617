// Keys have other names on a Mac, and Alt with an arrow moves the caret there.

export const mac = /^(Mac|iP)/.test(navigator.platform);

/** Whether the key that gives commands is down. */
export const isCommand = (event) => (mac ? event.metaKey : event.ctrlKey);
export const COMMAND = mac ? "Command" : "Control";

/** On a Mac, use the Mac's names of keys in everything that is shown or read out. */
export function nameKeys() {
  if (!mac) return;
  for (const one of document.querySelectorAll("[aria-keyshortcuts]")) {
    const keys = one.getAttribute("aria-keyshortcuts").split(" ");
    const own = keys.filter((key) => !key.startsWith("Alt+"));
    one.setAttribute("aria-keyshortcuts", own.join(" ").replaceAll("Control+", "Meta+"));
  }
  for (const one of document.querySelectorAll("[title*='(Ctrl ']")) {
    one.title = one.title.replace("(Ctrl ", "(⌘ ");
  }
  for (const one of document.querySelectorAll("#keys kbd")) {
    if (one.textContent === "Ctrl") one.textContent = "⌘";
  }
  for (const one of document.querySelectorAll("[data-not-mac]")) one.remove();
  const help = document.getElementById("text-help");
  help.textContent = help.textContent.replace("Control", COMMAND);
}
