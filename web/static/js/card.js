// The card at a word: the change, its reason, the model's confidence, and the user's choices.

import { wordOf } from "./dictionary.js";
import { byId, h } from "./dom.js";

export const TITLES = {
  spelling: "Spelling", grammar: "Grammar", punctuation: "Punctuation", style: "Style",
};

export class Card {
  #surface;
  #card = byId("card");
  #act;
  current = null;

  /** `act` has accept, ignore, ignoreWord (each of a correction), step(±1), changed(), leave(). */
  constructor(surface, act) {
    this.#surface = surface;
    this.#act = act;
    byId("card-accept").addEventListener("click", () => this.#do(act.accept));
    byId("card-ignore").addEventListener("click", () => this.#do(act.ignore));
    byId("card-never").addEventListener("click", () => this.#do(act.ignoreWord));
    byId("card-close").addEventListener("click", () => this.close({ back: true }));
    byId("card-next").addEventListener("click", () => act.step(1));
    byId("card-previous").addEventListener("click", () => act.step(-1));
    this.#card.addEventListener("keydown", (event) => this.#key(event));
    this.#card.addEventListener("focusout", (event) => {
      const to = event.relatedTarget;
      if (to && !this.#card.contains(to) && !surface.root.contains(to)) this.close();
    });
  }

  get hasFocus() {
    return this.#card.contains(document.activeElement);
  }

  /** Show a correction; with `focus`, move the focus into the card and back when it closes. */
  open(one, { index, total, focus = false }) {
    this.current = one;
    const paragraph = one.paragraph.text;
    const sentence = one.sentence;
    byId("card-title").textContent = TITLES[one.category];
    this.#card.dataset.kind = one.category;
    byId("card-sure").textContent = sureness(one.confidence);
    byId("card-meter").value = one.confidence;
    byId("card-phrase").replaceChildren(...phrase(paragraph, one, sentence));
    byId("card-message").textContent = one.message;
    byId("card-type").textContent = one.type;
    byId("card-place").textContent = `${index + 1} of ${total}`;
    // in other categories this would protect words such as "was", which are wrong only here
    const word = ["spelling", "style"].includes(one.category) ? wordOf(one.original) : "";
    byId("card-never").hidden = !word;
    byId("card-word").textContent = word;
    this.#card.hidden = false;
    this.place();
    if (focus) byId("card-accept").focus({ preventScroll: true });
    this.#act.changed();
  }

  close({ back = false } = {}) {
    if (!this.current) return;
    const inside = this.hasFocus;
    this.current = null;
    this.#card.hidden = true;
    if (inside || back) this.#surface.root.focus({ preventScroll: true });
    this.#act.changed();
  }

  focus() {
    byId("card-accept").focus({ preventScroll: true });
  }

  /** Put the card next to its word, below if there is room; on a phone the style sheet decides. */
  place() {
    if (!this.current) return;
    const [start, end] = this.current.span;
    const range = this.#surface.range(start, end);
    const word = range.getClientRects()[0] ?? range.getBoundingClientRect();
    const frame = this.#surface.root.closest("#page").getBoundingClientRect();
    this.#card.classList.toggle("away", word.bottom < frame.top || word.top > frame.bottom);
    const { offsetWidth: width, offsetHeight: height } = this.#card;
    const left = Math.max(12, Math.min(word.left - 20, innerWidth - width - 12));
    const below = word.bottom + 10;
    const fits = below + height < innerHeight - 12;
    const top = fits ? below : Math.max(12, word.top - height - 10);
    this.#card.style.setProperty("--left", `${Math.round(left)}px`);
    this.#card.style.setProperty("--top", `${Math.round(top)}px`);
  }

  #do(action) {
    const one = this.current;
    this.close({ back: true });
    action(one);
  }

  #key(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.close({ back: true });
    } else if (event.key === "Tab") {
      // in the page the card stands at the end, but for Tab it belongs between text and panel
      const stops = [...this.#card.querySelectorAll("button")].filter((b) => b.offsetParent);
      const end = event.shiftKey ? stops[0] : stops.at(-1);
      if (document.activeElement !== end) return;
      event.preventDefault();
      if (event.shiftKey) this.#surface.root.focus({ preventScroll: true });
      else this.#act.leave();
    }
  }
}

/** A confidence in words and as a number. */
export function sureness(confidence) {
  const words = confidence >= 0.9 ? "very sure" : confidence >= 0.7 ? "sure"
    : confidence >= 0.5 ? "fairly sure" : "not sure";
  return `${words}, ${Math.round(confidence * 100)} %`;
}

/** The change with some words around it. */
function phrase(text, one, { start, end }) {
  const before = shortened(text.slice(start, one.from), 36, true);
  const after = shortened(text.slice(one.to, end), 36, false);
  return [before, ...change(one), after];
}

/** A correction as <del> and <ins>. */
export function change({ original, replacement }) {
  const parts = [];
  if (original.trim()) parts.push(h("del", {}, original));
  if (original.trim() && replacement.trim()) parts.push(" ");
  if (replacement.trim()) parts.push(h("ins", {}, replacement));
  if (!parts.length) parts.push(h("ins", { class: "blank" }, replacement ? "␣" : "⌫␣"));
  return parts;
}

function shortened(text, length, left) {
  const flat = text.replace(/\s+/g, " ");
  if (flat.length <= length) return flat;
  if (left) return `…${flat.slice(flat.indexOf(" ", flat.length - length))}`;
  return `${flat.slice(0, flat.lastIndexOf(" ", length))} …`;
}
