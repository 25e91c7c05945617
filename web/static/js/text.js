// Plain functions on strings. Every offset counts UTF-16 units, as the browser does.

const WORD = /[\p{L}\p{N}]+(?:['’.-][\p{L}\p{N}]+)*/gu;
const LETTER = /[\p{L}\p{N}\p{M}]/u;
const STOP = /[.!?…]+["'”’)\]*_]*(?=\s|$)/g;

/** The one span in which two texts differ: old[from:oldEnd] became new[from:newEnd]. */
export function difference(before, after) {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before.charCodeAt(from) === after.charCodeAt(from)) from++;
  let tail = 0;
  while (
    tail < shorter - from &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) {
    tail++;
  }
  return { from, oldEnd: before.length - tail, newEnd: after.length - tail };
}

/** The text with the edits made; they are sorted by start and do not overlap. */
export function applied(text, edits, offset = 0) {
  let result = "";
  let at = 0;
  for (const edit of edits) {
    result += text.slice(at, edit.start - offset) + edit.replacement;
    at = edit.end - offset;
  }
  return result + text.slice(at);
}

export const countWords = (text) => text.match(WORD)?.length ?? 0;

/** A guess at the number of sentences, for text that the server has not segmented yet. */
export const countSentences = (text) =>
  countWords(text) ? Math.max(1, text.match(STOP)?.length ?? 0) : 0;

export const isLetter = (character) => character !== "" && LETTER.test(character);

/** The whole character that begins at `at`, or ends there: both halves of a surrogate pair. */
export const characterAt = (text, at) =>
  at >= 0 && at < text.length ? String.fromCodePoint(text.codePointAt(at)) : "";
export function characterBefore(text, at) {
  const low = text.charCodeAt(at - 1);
  return text.slice(at - (low >= 0xdc00 && low <= 0xdfff ? 2 : 1), at);
}

/** Up to `count` words before and after a span, in lower case: they identify the place. */
export function context(text, start, end, count = 3) {
  const left = text.slice(Math.max(0, start - 80), start).toLowerCase().match(WORD) ?? [];
  const right = text.slice(end, end + 80).toLowerCase().match(WORD) ?? [];
  return { left: left.slice(-count).join(" "), right: right.slice(0, count).join(" ") };
}

/**
 * The span to underline for an edit. An insertion has no words of its own: for it, the span is the
 * word after it ("the " before a noun) or else the word before it (a comma).
 */
export function underlined(text, { start, end, replacement }) {
  if (start < end) {
    let [from, to] = [start, end];
    while (from < to - 1 && /\s/.test(text[from])) from++;
    while (to > from + 1 && /\s/.test(text[to - 1])) to--;
    return [from, to];
  }
  const after = wordAfter(text, end);
  const before = wordBefore(text, start);
  const leansLeft = !/\s$/.test(replacement) && before[0] < before[1];
  const [from, to] = leansLeft || after[0] === after[1] ? before : after;
  return from < to ? [from, to] : [Math.max(0, start - 1), Math.min(text.length, start + 1)];
}

const INSIDE = /[\p{L}\p{N}\p{M}'’-]/u;

function wordAfter(text, at) {
  while (at < text.length && /[^\S\n]/.test(text[at])) at++;
  let end = at;
  for (let next; INSIDE.test((next = characterAt(text, end))); ) end += next.length;
  return [at, end];
}

function wordBefore(text, at) {
  while (at > 0 && /[^\S\n]/.test(text[at - 1])) at--;
  let start = at;
  for (let next; INSIDE.test((next = characterBefore(text, start))); ) start -= next.length;
  return [start, at];
}
