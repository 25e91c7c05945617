// Shows how each sentence was decoded: what was copied, what the model decided, where the copying
// went on, and the number of passes (Ge et al. 2022, Table 2).

import { byId, h, icon, plural } from "./dom.js";

const FIRST = 80;
const MARKER = /<(cap|upper|\+[a-z]+|\/s|s|pad)>/g;
const MEANINGS = {
  cap: ["Aa", "the next word begins with a capital letter"],
  upper: ["AA", "the next word is in capital letters"],
  "/s": ["end", "the end of the sentence"],
};

export class Decoding {
  #show; // function that goes to a sentence in the text
  #many = FIRST;
  #last = null;

  constructor(show) {
    this.#show = show;
    byId("decoding-decided").addEventListener("change", () => this.draw(this.#last));
  }

  draw(paragraphs) {
    this.#last = paragraphs;
    const sentences = [...sentencesOf(paragraphs)];
    byId("decoding-empty").hidden = sentences.length > 0;
    byId("decoding-found").hidden = sentences.length === 0;
    if (!sentences.length) return;
    summary(sentences);
    const shown = byId("decoding-decided").checked
      ? sentences.filter(({ passes }) => passes > 1) : sentences;
    byId("decoding-none").hidden = shown.length > 0;
    const rows = shown.slice(0, this.#many).map((sentence) => this.#row(sentence));
    const rest = shown.length - rows.length;
    byId("decoding-list").replaceChildren(...rows);
    byId("decoding-more").replaceChildren(rest > 0
      ? h("button", {
          type: "button", class: "quiet",
          on: { click: () => { this.#many += 200; this.draw(this.#last); } },
        }, `Show ${plural(Math.min(rest, 200), "more sentence")}`)
      : "");
  }

  #row(sentence) {
    const passes = passesOf(sentence.blocks ?? []);
    const line = h("p", { class: "line" }, passes.map((blocks, index) =>
      h("span", { class: "pass" },
        h("span", { class: "nth", "aria-hidden": "true" }, String(index + 1)),
        h("span", { class: "sr" }, ` Pass ${index + 1}: `),
        blocks.map(({ kind, text }) => {
          const again = kind === "drafted" && index > 0;
          return h("span", {
            class: again ? `${kind} again` : kind,
            title: kind === "decided" ? "decided by the model"
              : again ? "copying resumed here: re-entered"
                : "copied from your text, verified in one pass",
          },
          h("span", { class: "sr" },
            kind === "decided" ? " decided: " : again ? " re-entered: " : " copied: "),
          pieces(text));
        }))));
    line.querySelectorAll(".pass").forEach((pass, index) => pass.style.setProperty("--n", index));
    const replay = h("button", {
      type: "button", class: "round", title: "Replay", "aria-label": "Replay pass by pass",
      on: { click: () => {
        line.classList.remove("replay");
        void line.offsetWidth; // starts the animation again
        line.classList.add("replay");
      } },
    }, icon("play"));
    const go = h("button", {
      type: "button", class: "round", title: "Show in the text", "aria-label": "Show in the text",
      on: { click: () => this.#show(sentence.start, sentence.end) },
    }, icon("pen"));
    return h("li", { class: "sentence" }, line,
      h("div", { class: "facts" },
        h("span", {}, plural(sentence.passes, "pass", "passes")),
        h("span", {}, plural(sentence.tokens, "token")),
        h("span", { class: "rate" }, `${ratio(sentence.tokens, sentence.passes)} per pass`),
        h("span", {}, `${sentence.accepted} of ${sentence.drafted} drafted stood`),
        h("span", {}, cost(sentence)),
        h("span", { class: "does" }, replay, go)));
  }
}

function* sentencesOf(paragraphs) {
  for (const { start, answer } of paragraphs) {
    for (const sentence of answer?.sentences ?? []) {
      if (!sentence.passes) continue;
      yield { ...sentence, start: start + sentence.start, end: start + sentence.end };
    }
  }
}

/** Group blocks by pass: the accepted part of a draft, then what the model decided instead. */
function passesOf(blocks) {
  const passes = [];
  let open = false;
  for (const block of blocks) {
    if (block.kind === "drafted" || !open) passes.push([]);
    passes.at(-1).push(block);
    open = block.kind === "drafted";
  }
  return passes;
}

function summary(sentences) {
  const sum = (name) => sentences.reduce((total, sentence) => total + sentence[name], 0);
  const [tokens, passes] = [sum("tokens"), sum("passes")];
  byId("decoding-tokens").textContent = tokens.toLocaleString("en");
  byId("decoding-passes").textContent = passes.toLocaleString("en");
  byId("decoding-rate").textContent = ratio(tokens, passes);
  const timed = sentences.filter((sentence) => sentence.milliseconds !== null);
  byId("decoding-ms").textContent = timed.length
    ? milliseconds(sum("milliseconds") / timed.length) : "–";
  byId("decoding-greedy").textContent = plural(tokens, "pass", "passes");
  byId("decoding-ours").textContent = plural(passes, "pass", "passes");
  byId("decoding-bar").style.setProperty("--part", String(passes / tokens));
}

const ratio = (a, b) => (b ? (a / b).toFixed(1) : "0");

const milliseconds = (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en")} ms`;

/** The cost of a sentence; for a cached sentence the time of its first decoding, if we saw it. */
function cost({ milliseconds: ms, cached }) {
  const parts = [...(ms === null ? [] : [milliseconds(ms)]), ...(cached ? ["remembered"] : [])];
  return parts.join(", ");
}

/** The model's tokens unchanged, its markers as small tags. */
function pieces(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(MARKER)) {
    parts.push(text.slice(at, found.index));
    const [label, title] = MEANINGS[found[1]] ?? [found[1], "an ending, a token of its own"];
    parts.push(h("span", { class: "token", title }, label));
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  if (typeof parts[0] === "string") parts[0] = parts[0].trimStart();
  return parts;
}
