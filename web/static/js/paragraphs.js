// Cuts the text into paragraphs, each of which is sent, cached and answered on its own.
//
// A cut must never fall into a construct that the server reads as one: code fences, comments, raw
// elements, front matter and regions that are switched off stay whole, even with blank lines.

const FENCE = /^[ \t>]*(`{3,}|~{3,})/;
const RAW = /<(code|pre|script|style|kbd|samp|tt|math|svg)(?=[\s>])/i;
const OFF = /(?:<!--|\/\/|\/\*|#|%|--|;)\s{0,20}gec:\s{0,20}(off|on)\b/;
const FRONT_MATTER = /^\ufeff?---[ \t]*\n(?=[\w-]+:)[\s\S]*?\n---[ \t]*(?=\n|$)/;
const SENTENCE_END = /[.!?…]["'”’)\]*_]*\s*$/;
const CAPITAL = /^\s*["'“‘(\[*_]*\p{Lu}/u;

/** Longer runs of lines are cut between a line that ends a sentence and one that begins one. */
const LONG = 400;
/** No paragraph of prose is longer than this. */
const LONGEST = 8000;

/** Paragraphs of `text` as {start, text}, in order; blank lines belong to none. */
export function paragraphs(text) {
  const found = [];
  let start = -1; // start of the open paragraph
  let until = null; // test for the end of the construct that the last line left open
  let whole = false; // the paragraph holds such a construct and is never cut
  let last = "";
  let at = 0;
  const close = (end) => {
    if (start < 0) return;
    const piece = text.slice(start, end);
    if (whole || piece.length <= LONGEST) found.push({ start, text: piece });
    else found.push(...cut(piece, start));
    start = -1;
    whole = false;
  };
  while (at <= text.length) {
    let end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    const line = text.slice(at, end);
    if (until !== null) {
      if (until(line)) until = null;
    } else {
      const blank = line.trim() === "";
      if (blank) close(at - 1);
      else {
        const length = start < 0 ? 0 : at - start;
        if (length > LONG && SENTENCE_END.test(last) && CAPITAL.test(line)) close(at - 1);
        if (start < 0) start = at;
        until = opened(text, at, line);
        whole ||= until !== null;
      }
    }
    last = line;
    at = end + 1;
  }
  close(text.length);
  return found;
}

/**
 * A test for the last line of a construct that `line`, which begins at `at`, opens and does not
 * close; null if it opens none. Fences and regions may stay open to the end, others may not.
 */
function opened(text, at, line) {
  const fence = FENCE.exec(line);
  if (fence) {
    const end = new RegExp(`^[ \\t>]*${fence[1]}${fence[1][0]}*[ \\t]*$`);
    return (other) => end.test(other);
  }
  if (at === 0 && FRONT_MATTER.test(text)) return (other) => /^---[ \t]*$/.test(other);
  if (OFF.exec(line)?.[1] === "off") return (other) => OFF.exec(other)?.[1] === "on";
  const comment = line.lastIndexOf("<!--");
  if (comment >= 0 && !line.includes("-->", comment) && text.includes("-->", at)) {
    return (other) => other.includes("-->");
  }
  const raw = RAW.exec(line);
  if (raw) {
    const end = new RegExp(`</${raw[1]}>`, "i");
    const opening = at + raw.index;
    if (!end.test(line.slice(raw.index)) && end.test(text.slice(opening))) {
      return (other) => end.test(other);
    }
  }
  return null;
}

/** Cut a paragraph that is too long: at line ends, else after sentences, else at blanks. */
function cut(text, offset) {
  const pieces = [];
  let at = 0;
  while (text.length - at > LONGEST) {
    const room = text.slice(at, at + LONGEST);
    let length = room.lastIndexOf("\n") + 1;
    if (!length) {
      const sentences = [...room.matchAll(/[.!?…]["'”’)\]]*\s+(?=\p{Lu})/gu)];
      const last = sentences.at(-1);
      length = last ? last.index + last[0].length : room.lastIndexOf(" ") + 1;
    }
    if (!length) length = /[\ud800-\udbff]$/.test(room) ? LONGEST - 1 : LONGEST;
    pieces.push({ start: offset + at, text: text.slice(at, at + length) });
    at += length;
  }
  pieces.push({ start: offset + at, text: text.slice(at) });
  return pieces;
}
