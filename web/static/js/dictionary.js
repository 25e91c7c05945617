// The personal dictionary: words that are never changed. It lives in the browser's storage.

import { inBrowser } from "./storage.js";

const LONGEST = 100; // letters of a word
const MOST = 10_000; // words

export class Dictionary extends EventTarget {
  #words;
  stored = true; // false if the browser's storage is full or switched off

  constructor() {
    super();
    const words = inBrowser.get("dictionary", []);
    this.#words = new Set(Array.isArray(words) ? words.filter(isWord) : []);
    addEventListener("storage", (event) => {
      if (event.key !== "gec.dictionary") return; // only another tab's change of the dictionary
      this.#words = new Set(inBrowser.get("dictionary", []).filter(isWord));
      this.dispatchEvent(new Event("change"));
    });
  }

  get words() {
    return [...this.#words].sort((a, b) => a.localeCompare(b));
  }

  has(word) {
    return this.#words.has(word);
  }

  /** Add words, blanks around them removed; returns how many were new. */
  add(...words) {
    const before = this.#words.size;
    for (const word of words.map((word) => String(word).trim())) {
      if (isWord(word) && this.#words.size < MOST) this.#words.add(word);
    }
    if (this.#words.size > before) this.#save();
    return this.#words.size - before;
  }

  remove(word) {
    if (this.#words.delete(word)) this.#save();
  }

  /** The words that occur in a text. */
  inside(text) {
    return [...this.#words].filter((word) => text.includes(word)).sort();
  }

  /** Whether a correction of `original` would change one of the words. */
  covers(original) {
    if (!this.#words.size) return false;
    const parts = original.trim().split(/\s+/);
    return [original.trim(), ...parts, ...parts.map(bare)].some((part) => this.#words.has(part));
  }

  /** One word a line, for a file. */
  exported() {
    return this.words.map((word) => `${word}\n`).join("");
  }

  #save() {
    this.stored = inBrowser.set("dictionary", [...this.#words]);
    this.dispatchEvent(new Event("change"));
  }
}

const isWord = (word) =>
  typeof word === "string" && word !== "" && word.length <= LONGEST && !word.includes("\n");
const bare = (word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/** The word that "always ignore" would add for a correction; empty if it is not a single word. */
export function wordOf(original) {
  const word = bare(original.trim());
  return /^\S+$/.test(word) && /\p{L}/u.test(word) ? word : "";
}
