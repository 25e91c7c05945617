// Decides which paragraphs the server must see, and when.
//
// An answer belongs to a key: the paragraph's text and everything else that decides the answer.
// The answer is kept under the key and used for every paragraph with the key, so an answer that
// comes too late can never reach a text that has changed meanwhile. A request is aborted when the
// text has none of its paragraphs any more.

import { Refused } from "./api.js";

const DELAY = 250; // ms after the last key stroke
const FAULTS = 2; // faults of the server, after which a paragraph is sent alone
const AT_ONCE = 2; // requests under way
const LETTERS = 4000; // in one request, so that long documents answer piece by piece
const KEPT = 5000; // answers
const PATIENCE = [1, 2, 4, 8, 16, 30]; // s until the next try if there is no connection

export class Checker extends EventTarget {
  #correct;
  #answers = new Map(); // key -> result, oldest first
  #times = new Map(); // sentence -> milliseconds, if it was decoded and not cached
  #refusals = new Map(); // key -> why the server refuses the paragraph
  #faults = new Map(); // key -> how often the server failed with it
  #wanted = []; // paragraphs {key, text, words}, the most urgent first
  #running = new Set(); // {keys, controller}
  #options = {};
  #timer = 0;
  #failures = 0;
  #resume = 0; // no request before this time
  limits = { text: 100_000, texts: 64 };

  /**
   * `correct(texts, options, signal)` asks the server. Dispatches "answers" when answers come, and
   * "state" with {kind: "idle" | "busy" | "waiting" | "refused" | "locked", message, left, ms}.
   */
  constructor(correct) {
    super();
    this.#correct = correct;
  }

  answer(key) {
    return this.#answers.get(key);
  }

  /** Whether a key needs no more requests: it has an answer or a refusal. */
  settled(key) {
    return this.#answers.has(key) || this.#refusals.has(key);
  }

  /**
   * Set the paragraphs that the text now needs, to be sent after `pause` milliseconds without a
   * change; `soon` spares the wait, for changes that do not come from typing.
   */
  want(wanted, options, { soon = false, pause = DELAY } = {}) {
    this.#options = options;
    this.#wanted = wanted.filter(({ key }) => !this.settled(key));
    const keys = new Set(this.#wanted.map(({ key }) => key));
    for (const request of this.#running) {
      if (!request.keys.some((key) => keys.has(key))) request.controller.abort();
    }
    clearTimeout(this.#timer);
    if (!this.#wanted.length) return this.#report();
    const wait = Math.max(soon ? 0 : pause, this.#resume - Date.now());
    this.#timer = setTimeout(() => this.#next(), wait);
  }

  /** Forget all answers; paragraphs that are still wanted are sent again. */
  forget() {
    this.#answers.clear();
  }

  /** Try again now: the user gave a token, or the network is back. */
  retry() {
    this.#resume = 0;
    this.#failures = 0;
    this.#next();
  }

  #next() {
    clearTimeout(this.#timer);
    if (this.#resume > Date.now()) {
      this.#timer = setTimeout(() => this.#next(), this.#resume - Date.now());
      return;
    }
    while (this.#running.size < AT_ONCE) {
      const batch = this.#batch();
      if (!batch.length) break;
      this.#send(batch);
    }
    this.#report();
  }

  #batch() {
    const busy = new Set([...this.#running].flatMap((request) => request.keys));
    const batch = [];
    let letters = 0;
    for (const paragraph of this.#wanted) {
      const { key, text } = paragraph;
      if (busy.has(key) || this.settled(key)) continue;
      if (text.length > this.limits.text) {
        this.#refusals.set(key, "a paragraph is longer than the server reads");
        continue;
      }
      const alone = this.#alone(key) || (batch.length === 1 && this.#alone(batch[0].key));
      if (batch.length && (alone || letters + text.length > LETTERS)) break;
      busy.add(key);
      batch.push(paragraph);
      letters += text.length;
      if (batch.length >= Math.min(16, this.limits.texts)) break;
    }
    return batch;
  }

  /** Whether the server failed so often with this paragraph that it may be the reason. */
  #alone(key) {
    return (this.#faults.get(key) ?? 0) >= FAULTS;
  }

  async #send(batch) {
    const controller = new AbortController();
    const request = { keys: batch.map(({ key }) => key), controller };
    this.#running.add(request);
    const words = [...new Set(batch.flatMap((paragraph) => paragraph.words))];
    const options = { ...this.#options, ...(words.length && { ignore_words: words }) };
    const began = performance.now();
    let ms = null;
    try {
      const { results } = await this.#correct(
        batch.map(({ text }) => text),
        options,
        controller.signal,
      );
      ms = performance.now() - began;
      this.#failures = 0;
      batch.forEach(({ key, text }, index) => this.#keep(key, text, results[index]));
    } catch (error) {
      this.#failed(error, batch);
    }
    this.#running.delete(request);
    if (ms !== null) this.dispatchEvent(new Event("answers"));
    this.#next();
    if (ms !== null) this.#report({ ms });
  }

  #keep(key, text, result) {
    for (const sentence of result.sentences) {
      const own = text.slice(sentence.start, sentence.end);
      if (sentence.cached) sentence.milliseconds = this.#times.get(own) ?? null;
      else this.#times.set(own, sentence.milliseconds);
    }
    if (this.#times.size > 4 * KEPT) this.#times.clear();
    this.#faults.delete(key);
    this.#answers.set(key, result);
    if (this.#answers.size > KEPT) this.#answers.delete(this.#answers.keys().next().value);
  }

  #failed(error, batch) {
    if (error.name === "AbortError") return;
    const refused = error instanceof Refused;
    if (refused && [400, 413, 422].includes(error.status)) {
      for (const { key } of batch) this.#refusals.set(key, error.message);
      return;
    }
    if (refused && [500, 504].includes(error.status)) {
      if (this.#isFault(batch)) return;
    }
    this.#failures++;
    const pause = PATIENCE[Math.min(this.#failures, PATIENCE.length) - 1];
    const locked = refused && error.status === 401;
    this.#resume = Date.now() + (locked ? 1e9 : Math.max(pause, error.retryAfter ?? 0) * 1000);
    const message = refused ? error.message : "no connection to the server";
    this.#report({ kind: locked ? "locked" : "waiting", message });
  }

  /** Count the failure of a batch; true if the server failed again with a paragraph alone. */
  #isFault(batch) {
    for (const { key } of batch) this.#faults.set(key, (this.#faults.get(key) ?? 0) + 1);
    const [{ key }] = batch;
    if (batch.length > 1 || this.#faults.get(key) < FAULTS) return false;
    this.#faults.delete(key);
    this.#refusals.set(key, "the server fails with a paragraph");
    return true;
  }

  #report(more = {}) {
    const left = this.#wanted.filter(({ key }) => !this.settled(key)).length;
    if (!more.kind && left && this.#resume > Date.now()) return; // the last report still holds
    const kind = left ? "busy" : this.#refusals.size ? "refused" : "idle";
    const message = kind === "refused" ? [...this.#refusals.values()].at(-1) : "";
    this.dispatchEvent(new CustomEvent("state", { detail: { kind, message, left, ...more } }));
  }
}
