// The state of the text: its paragraphs with their open corrections, and the corrections that were
// accepted or ignored. This state follows the text change by change.

import { paragraphs } from "./paragraphs.js";
import {
  applied, characterAt, characterBefore, context, countSentences, countWords, isLetter, underlined,
} from "./text.js";

export const KINDS = ["spelling", "grammar", "punctuation", "style"];

let number = 0;

/** One correction. Its offsets count from its paragraph's start, so it moves with the paragraph. */
class Correction {
  id = ++number;
  shown = null; // {token, edit}: the server's name for it, if the user agreed to feedback

  constructor(paragraph, edit) {
    this.paragraph = paragraph;
    this.from = edit.start;
    this.to = edit.end;
    const { original, replacement, type, category, confidence, message } = edit;
    Object.assign(this, { original, replacement, type, confidence, message });
    this.category = KINDS.includes(category) ? category : "grammar";
  }

  get start() {
    return this.paragraph.start + this.from;
  }

  get end() {
    return this.paragraph.start + this.to;
  }

  /** The span to underline, in the whole text. */
  get span() {
    const [from, to] = underlined(this.paragraph.text, {
      start: this.from, end: this.to, replacement: this.replacement,
    });
    return [this.paragraph.start + from, this.paragraph.start + to];
  }

  /** The sentence around the correction, {start, end} within the paragraph. */
  get sentence() {
    const { text, answer } = this.paragraph;
    const sentences = answer?.sentences ?? [];
    const found = sentences.find(({ start, end }) => start <= this.from && this.to <= end);
    return found ?? { start: 0, end: text.length };
  }

  /** The correction's neighbours in the sentence, by which it is recognised elsewhere. */
  get around() {
    const { start, end } = this.sentence;
    return context(this.paragraph.text.slice(start, end), this.from - start, this.to - start);
  }

  is(edit) {
    return (
      this.from === edit.start && this.to === edit.end &&
      this.original === edit.original && this.replacement === edit.replacement
    );
  }
}

export class Document {
  text = "";
  paragraphs = []; // {start, text, key, words, answer, corrections, size}
  accepted = []; // {id, start, end, original, replacement, category, message, ...}
  #made = []; // {before, after, ids}: texts around what was accepted together
  ignored = []; // {id, start, original, replacement, left, right, category}
  setting = "";
  #dictionary;
  #open = null; // computed on demand

  constructor(dictionary) {
    this.#dictionary = dictionary;
  }

  /** The open corrections, by place. */
  get open() {
    this.#open ??= this.paragraphs
      .flatMap(({ corrections }) => corrections)
      .filter((one) => !this.#dictionary.covers(one.original) && !this.#isIgnored(one));
    return this.#open;
  }

  /** Words, characters and sentences of the text. */
  get size() {
    let [words, sentences] = [0, 0];
    for (const { size } of this.paragraphs) {
      words += size.words;
      sentences += size.sentences;
    }
    return { words, sentences };
  }

  /** Note another strictness or another dictionary; open corrections stay until answers come. */
  rekey(setting = this.setting) {
    this.setting = setting;
    for (const paragraph of this.paragraphs) this.#key(paragraph);
    this.#open = null;
  }

  /**
   * Take over `text`, made of the old text by `changes` {start, end, length} in the old offsets.
   *
   * Returns the ids of the accepted corrections that the changes take back.
   */
  update(text, changes) {
    const back = this.#made.findLast(({ before, after }) => before === text && after === this.text);
    const old = this.paragraphs;
    const cut = paragraphs(text);
    let [head, tail] = [0, 0];
    const most = Math.min(old.length, cut.length);
    while (head < most && old[head].text === cut[head].text) head++;
    while (tail < most - head && old.at(-1 - tail).text === cut.at(-1 - tail).text) tail++;
    const carried = old
      .slice(head, old.length - tail)
      .flatMap(({ corrections }) => corrections)
      .flatMap((one) => this.#carried(one, changes, text));
    this.text = text;
    this.paragraphs = cut.map(({ start, text: own }, index) => {
      const same = index < head ? old[index] : index >= cut.length - tail
        ? old[old.length - cut.length + index] : null;
      if (same) return Object.assign(same, { start });
      const made = { start, text: own, answer: null, corrections: [] };
      made.size = { words: countWords(own), sentences: countSentences(own) };
      for (const { one, from, to } of carried) {
        if (from < start || to > start + own.length) continue;
        Object.assign(one, { paragraph: made, from: from - start, to: to - start });
        made.corrections.push(one);
      }
      return this.#key(made);
    });
    this.accepted = this.accepted.filter((done) => {
      const place = moved(done, changes);
      if (place) [done.start, done.end] = place;
      return place && text.slice(...place) === done.replacement;
    });
    for (const mark of this.ignored) mark.start = moved({ start: mark.start, end: mark.start }, changes)?.[0];
    this.#open = null;
    return back?.ids ?? [];
  }

  /** Put the answers into their paragraphs; `answer(key)` returns an answer. */
  settle(answer) {
    for (const paragraph of this.paragraphs) {
      const found = answer(paragraph.key);
      if (!found || found === paragraph.answer) continue;
      const before = paragraph.corrections;
      paragraph.answer = found;
      paragraph.corrections = found.edits.map(
        (edit) => before.find((one) => one.is(edit)) ?? new Correction(paragraph, edit),
      );
      const sentences = found.sentences.filter(({ start, end }) =>
        countWords(paragraph.text.slice(start, end)),
      );
      paragraph.size.sentences = sentences.length;
      for (const { shown } of found.sentences) {
        shown?.edits.forEach((index, edit) => {
          paragraph.corrections[index].shown ??= { token: shown.token, edit };
        });
      }
      for (const one of paragraph.corrections) this.#follow(one);
      this.#open = null;
    }
  }

  // ------------------------------------------------------------------------------- decisions

  /** Close corrections that are about to be made; returns their edits. */
  accept(corrections) {
    const edits = [...corrections].sort((a, b) => a.start - b.start);
    let shift = 0;
    const done = edits.map((one) => {
      const start = one.start + shift;
      shift += one.replacement.length - (one.end - one.start);
      const { original, replacement, category, type, message, confidence } = one;
      return {
        id: one.id, start, end: start + replacement.length,
        original, replacement, category, type, message, confidence,
      };
    });
    const plain = edits.map(({ start, end, replacement }) => ({ start, end, replacement }));
    const gone = new Set(edits);
    for (const { paragraph } of edits) {
      paragraph.corrections = paragraph.corrections.filter((one) => !gone.has(one));
    }
    this.#open = null;
    return { edits: plain, done };
  }

  /** Remember edits that were made, so that each can be undone. */
  remember(done) {
    this.accepted = [...this.accepted, ...done].sort((a, b) => a.start - b.start);
    const ids = done.map(({ id }) => id);
    const undone = done.map(({ start, end, original }) => ({ start, end, replacement: original }));
    const made = { before: applied(this.text, undone), after: this.text, ids };
    this.#made = [...this.#made, made].slice(-20);
  }

  /** Forget the server's names for corrections, because the user's consent has ended. */
  forgetShown() {
    for (const { corrections } of this.paragraphs) for (const one of corrections) one.shown = null;
  }

  /** Ignore a correction; returns the mark that remembers it. */
  ignore(one) {
    const { start, original, replacement, category, around } = one;
    const mark = { id: ++number, start, original, replacement, category, ...around };
    this.ignored.push(mark);
    this.#open = null;
    return mark;
  }

  restore(mark) {
    this.ignored = this.ignored.filter((other) => other !== mark);
    this.#open = null;
  }

  /** The text with all open corrections made. */
  corrected() {
    return applied(this.text, this.open);
  }

  // ------------------------------------------------------------------------------------ inside

  #key(paragraph) {
    paragraph.words = this.#dictionary.inside(paragraph.text);
    paragraph.key = [this.setting, paragraph.words.join("\u0001"), paragraph.text].join("\0");
    return paragraph;
  }

  #carried(one, changes, text) {
    const place = moved(one, changes);
    if (!place || text.slice(...place) !== one.original) return [];
    const [from, to] = place;
    const beside = changes.some(({ start, end }) => start === one.end || end === one.start);
    const grown =
      beside && from < to &&
      ((isLetter(characterBefore(text, from)) && isLetter(characterAt(text, from))) ||
        (isLetter(characterBefore(text, to)) && isLetter(characterAt(text, to))));
    return grown ? [] : [{ one, from, to }]; // "go" became "gone": another word
  }

  /** The mark of the same correction, ignored at this place or between the same words. */
  #mark(one) {
    const alike = this.ignored.filter(
      ({ original, replacement }) => original === one.original && replacement === one.replacement,
    );
    if (!alike.length) return undefined;
    const { left, right } = one.around;
    return (
      alike.find(({ start }) => start === one.start) ??
      alike.find((mark) => mark.left === left && mark.right === right)
    );
  }

  #isIgnored(one) {
    return this.#mark(one) !== undefined;
  }

  /** Move a mark with its correction if the words were cut and pasted, or changed around it. */
  #follow(one) {
    const mark = this.#mark(one);
    if (mark) Object.assign(mark, one.around, { start: one.start });
  }
}

/** The span after the changes, as [start, end]; null if one of the changes cut into it. */
function moved(span, changes) {
  let shift = 0;
  for (const { start, end, length } of changes) {
    if (start >= span.end && !(end <= span.start)) break;
    if (end > span.start) return null;
    shift += length - (end - start);
  }
  return [span.start + shift, span.end + shift];
}
