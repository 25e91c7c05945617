// The diff view: the text with every open and every accepted correction marked in it.

import { byId, h, plural } from "./dom.js";

export function drawChanges({ text, open, accepted }) {
  const all = [
    ...open.map((one) => ({ one, start: one.start, end: one.end, made: false })),
    ...accepted.map((one) => ({ one, start: one.start, end: one.end, made: true })),
  ].sort((a, b) => a.start - b.start);
  byId("changes-summary").textContent = all.length
    ? `${plural(open.length, "open correction")}, ${accepted.length} accepted.`
    : "No corrections, open or accepted: there is nothing to compare.";
  const lines = [];
  let line = h("div", {});
  const write = (piece, wrap = (part) => part) => {
    piece.split("\n").forEach((part, index) => {
      if (index) {
        lines.push(line);
        line = h("div", {});
      }
      if (part) line.append(wrap(part));
    });
  };
  let at = 0;
  for (const { one, start, end, made } of all) {
    if (start < at) continue; // the place was accepted and then corrected again
    write(text.slice(at, start));
    const kind = made ? "made" : "open";
    write(one.original, (part) => h("del", { class: kind }, part));
    write(one.replacement, (part) => h("ins", { class: kind }, part));
    at = end;
  }
  write(text.slice(at));
  lines.push(line);
  for (const block of lines) if (!block.hasChildNodes()) block.append(h("br"));
  byId("changes-text").replaceChildren(...lines);
}
