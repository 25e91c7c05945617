// The writing surface: a plain-text contenteditable, one block a line, and its text as a string.
//
// All changes go through document.execCommand("insertText"): deprecated, but the only way to
// change text that the browser's own undo knows. Nothing else ever touches the surface's nodes.

import { applied, difference } from "./text.js";

const BLOCK = new Set(["DIV", "P"]);

export class Surface extends EventTarget {
  #root;
  #blocks = []; // {start, text, leaves: [text nodes and <br>]}
  #starts = null; // leaf -> offset; computed on demand
  #quiet = false; // true during a change of our own
  #fresh = true; // true until something is written, so there is nothing to undo
  composing = false; // true while an input method shows what it might insert
  #together = []; // {before, after} of changes that are one step of undo but several commands
  text = "";

  /**
   * Dispatches "change" with {changes: [{start, end, length}], typed: bool} in its detail, and
   * "composed" when an input method has inserted what it had shown.
   */
  constructor(root) {
    super();
    this.#root = root;
    if (root.contentEditable !== "plaintext-only") root.contentEditable = "true"; // older Firefox
    root.addEventListener("beforeinput", (event) => this.#beforeInput(event));
    root.addEventListener("input", () => this.#quiet || this.#changed());
    root.addEventListener("compositionstart", () => { this.composing = true; });
    root.addEventListener("compositionend", () => {
      this.composing = false;
      this.#changed();
      this.dispatchEvent(new Event("composed"));
    });
    root.addEventListener("paste", (event) => this.#paste(event));
    this.fill("");
  }

  get root() {
    return this.#root;
  }

  /** Insert the first text, when there is nothing to undo: a block for each line. */
  fill(text) {
    const lines = text.split("\n").map((line) => {
      const block = document.createElement("div");
      block.append(line === "" ? document.createElement("br") : line);
      return block;
    });
    const before = this.text;
    this.#root.replaceChildren(...lines);
    this.#read();
    const fresh = this.#fresh;
    if (this.text !== before) this.#tell(before, null, false);
    this.#fresh = fresh;
  }

  /**
   * Make edits {start, end, replacement}, sorted and apart, as one step of undo.
   *
   * Each changed line is one command, from the last line to the first: a command over many lines
   * costs the browser a layout for each line. undo() takes such commands back together.
   */
  edit(edits) {
    const before = this.text;
    const after = applied(before, edits);
    if (after === before) return;
    this.#root.focus({ preventScroll: true });
    this.#quiet = true;
    const runs = this.#runs(edits);
    for (const { start, end, replacement } of runs.reverse()) {
      this.select(start, end);
      if (replacement) document.execCommand("insertText", false, replacement);
      else document.execCommand("delete");
    }
    this.#quiet = false;
    this.#read();
    const asked = edits.map((e) => ({ start: e.start, end: e.end, length: e.replacement.length }));
    const changes = this.text === after ? asked : null;
    if (this.text !== before) this.#tell(before, changes, false);
    if (this.text !== after) this.fill(after); // losing undo is better than losing a character
    else if (runs.length > 1) this.#together = [...this.#together, { before, after }].slice(-20);
  }

  /** The edits, with those in one line joined. */
  #runs(edits) {
    const runs = [];
    for (const { start, end, replacement } of edits) {
      const last = runs.at(-1);
      const between = last && this.text.slice(last.end, start);
      if (last && !between.includes("\n")) {
        last.replacement += between + replacement;
        last.end = end;
      } else runs.push({ start, end, replacement });
    }
    return runs;
  }

  /** Replace the whole text: with undo, unless nothing was ever written. */
  replaceAll(text) {
    if (this.#fresh) this.fill(text);
    else this.edit([{ start: 0, end: this.text.length, replacement: text }]);
  }

  undo() {
    this.#root.focus({ preventScroll: true });
    this.#history("undo", "after", "before");
  }

  /** Undo or redo a step, with all commands that were made together. */
  #history(command, from, to) {
    const before = this.text;
    const step = this.#together.findLast((one) => one[from] === before);
    this.#quiet = true;
    do {
      const last = this.text;
      document.execCommand(command);
      this.#read();
      if (this.text === last) break; // the browser remembers no more
    } while (step && this.text !== step[to]);
    this.#quiet = false;
    if (this.text !== before) this.#tell(before, null, false);
  }

  #beforeInput(event) {
    const kind = event.inputType;
    if (kind === "insertParagraph" || kind === "insertLineBreak") {
      event.preventDefault(); // the browser's own action would let one block grow without end
      this.#insert("\n");
    } else if (kind === "historyUndo" && !this.#quiet && this.#isEnd("after")) {
      event.preventDefault();
      this.#history("undo", "after", "before");
    } else if (kind === "historyRedo" && !this.#quiet && this.#isEnd("before")) {
      event.preventDefault();
      this.#history("redo", "before", "after");
    } else if (kind === "insertText" && event.data && !getSelection().isCollapsed) {
      event.preventDefault();
      this.#insert(event.data);
    } else if (kind.startsWith("format")) event.preventDefault();
  }

  #isEnd(end) {
    return this.#together.some((one) => one[end] === this.text);
  }

  #paste(event) {
    const text = event.clipboardData?.getData("text/plain");
    if (!text) return;
    event.preventDefault();
    this.#insert(text.replace(/\r\n?/g, "\n"));
  }

  /** Insert at the selection. The browser reports each line; we listen to the last report. */
  #insert(text) {
    const { text: before } = this;
    const at = this.selection();
    this.#quiet = true;
    document.execCommand("insertText", false, text);
    this.#quiet = false;
    this.#changed();
    if (!at) return;
    const after = applied(before, [{ ...at, replacement: text }]);
    if (this.text === after) return;
    this.fill(after); // Firefox puts the replacement of a whole last line into the line before
    this.select(at.start + text.length);
  }

  #changed() {
    const before = this.text;
    this.#read();
    if (this.text !== before) this.#tell(before);
  }

  #tell(before, changes = null, typed = true) {
    this.#fresh = false;
    if (!changes) {
      const { from, oldEnd, newEnd } = difference(before, this.text);
      changes = [{ start: from, end: oldEnd, length: newEnd - from }];
    }
    this.dispatchEvent(new CustomEvent("change", { detail: { changes, typed } }));
  }

  // ------------------------------------------------------------------ nodes and offsets

  #read() {
    const blocks = [];
    let leaves = null;
    const visit = (node) => {
      for (let child = node.firstChild; child; child = child.nextSibling) {
        if (child.nodeType === Node.TEXT_NODE || child.nodeName === "BR") {
          if (!leaves) blocks.push({ start: 0, text: "", leaves: (leaves = []) });
          leaves.push(child);
        } else if (BLOCK.has(child.nodeName)) {
          leaves = null;
          visit(child);
          leaves = null;
        } else visit(child);
      }
    };
    visit(this.#root);
    let at = 0;
    for (const block of blocks) {
      let text = "";
      for (const leaf of block.leaves) text += leaf.nodeName === "BR" ? "\n" : leaf.data;
      // a <br> at the end of a block only keeps its last line open; Firefox's "\n" is a line
      block.text = block.leaves.at(-1).nodeName === "BR" ? text.slice(0, -1) : text;
      block.start = at;
      at += block.text.length + 1;
    }
    this.#blocks = blocks;
    this.#starts = null;
    this.text = blocks.map((block) => block.text).join("\n");
  }

  /** The boundary point {node, offset} of a place in the text. */
  locate(offset) {
    const blocks = this.#blocks;
    if (!blocks.length) return { node: this.#root, offset: 0 };
    let [low, high] = [0, blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (blocks[middle].start <= offset) low = middle;
      else high = middle - 1;
    }
    let rest = Math.min(offset - blocks[low].start, blocks[low].text.length);
    for (const leaf of blocks[low].leaves) {
      const length = leaf.nodeName === "BR" ? 1 : leaf.length;
      if (leaf.nodeName !== "BR" && rest <= length) return { node: leaf, offset: rest };
      if (leaf.nodeName === "BR" && rest < length) return before(leaf);
      rest -= length;
    }
    return before(blocks[low].leaves.at(-1));
  }

  /** The place in the text of a boundary point; null outside the surface. */
  offsetOf(node, offset) {
    if (!node || !this.#root.contains(node)) return null;
    if (!this.#starts) {
      this.#starts = new Map();
      for (const block of this.#blocks) {
        let at = block.start;
        for (const leaf of block.leaves) {
          this.#starts.set(leaf, [at, block.start + block.text.length]);
          at += leaf.nodeName === "BR" ? 1 : leaf.length;
        }
      }
    }
    const known = this.#starts.get(node);
    if (known) return Math.min(known[0] + offset, known[1]);
    const child = node.childNodes[offset];
    const next = child && firstLeaf(child, this.#starts);
    if (next) return this.#starts.get(next)[0];
    for (let index = offset - 1; index >= 0; index--) {
      const last = lastLeaf(node.childNodes[index], this.#starts);
      if (last) return Math.min(this.#starts.get(last)[0] + (last.length ?? 0), this.text.length);
    }
    return 0;
  }

  range(start, end) {
    const [from, to] = [this.locate(start), this.locate(end)];
    const range = document.createRange();
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return range;
  }

  select(start, end = start) {
    const [from, to] = [this.locate(start), this.locate(end)];
    getSelection().setBaseAndExtent(from.node, from.offset, to.node, to.offset);
  }

  /** The selection as {start, end}, or null if it lies outside the surface. */
  selection() {
    const selection = getSelection();
    const anchor = this.offsetOf(selection.anchorNode, selection.anchorOffset);
    const focus = this.offsetOf(selection.focusNode, selection.focusOffset);
    if (anchor === null || focus === null) return null;
    return { start: Math.min(anchor, focus), end: Math.max(anchor, focus) };
  }

  /** The part of the text, {start, end}, whose lines lie between two heights of the window. */
  between(top, bottom) {
    const blocks = this.#blocks;
    const first = lowest(blocks.length, (index) => this.#box(index).bottom >= top);
    const last = lowest(blocks.length, (index) => this.#box(index).top > bottom);
    const end = blocks[last - 1];
    return { start: blocks[first]?.start ?? 0, end: end ? end.start + end.text.length : 0 };
  }

  #box(index) {
    const parent = this.#blocks[index].leaves[0].parentElement;
    if (parent !== this.#root) return parent.getBoundingClientRect();
    const { start, text } = this.#blocks[index];
    return this.range(start, start + text.length).getBoundingClientRect();
  }

  /** The place in the text under a point of the window; null if there is none. */
  offsetAt(x, y) {
    if (document.caretPositionFromPoint) {
      const position = document.caretPositionFromPoint(x, y);
      return position && this.offsetOf(position.offsetNode, position.offset);
    }
    const range = document.caretRangeFromPoint?.(x, y);
    return range ? this.offsetOf(range.startContainer, range.startOffset) : null;
  }
}

/** The lowest index below `count` that a monotonous test accepts, else `count`. */
function lowest(count, accepts) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (accepts(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function before(leaf) {
  return { node: leaf.parentNode, offset: [...leaf.parentNode.childNodes].indexOf(leaf) };
}

function firstLeaf(node, leaves) {
  if (leaves.has(node)) return node;
  for (const child of node.childNodes) {
    const leaf = firstLeaf(child, leaves);
    if (leaf) return leaf;
  }
  return null;
}

function lastLeaf(node, leaves) {
  if (leaves.has(node)) return node;
  for (let child = node.lastChild; child; child = child.previousSibling) {
    const leaf = lastLeaf(child, leaves);
    if (leaf) return leaf;
  }
  return null;
}
