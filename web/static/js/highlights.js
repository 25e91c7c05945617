// Underlines without touching the text's nodes: the CSS Custom Highlight API.
//
// Ranges move with the text by themselves; a range is made only if its correction is new or the
// browser has replaced its nodes. The browser paints all ranges at every key stroke, in sight or
// not, so there are ranges only on the screen and one screen around it.

import { KINDS } from "./document.js";

export class Highlights {
  #surface;
  #ranges = new Map(); // correction -> {range, kind}
  #kinds = {};
  #active = null;
  #corrections = [];

  static get supported() {
    return typeof Highlight === "function" && "highlights" in CSS;
  }

  constructor(surface) {
    this.#surface = surface;
    if (!Highlights.supported) return;
    for (const kind of KINDS) {
      this.#kinds[kind] = new Highlight();
      CSS.highlights.set(`gec-${kind}`, this.#kinds[kind]);
    }
    this.#active = new Highlight();
    this.#active.priority = -1; // a background, under the underlines
    CSS.highlights.set("gec-active", this.#active);
  }

  /** Underline exactly these corrections, which are sorted. */
  show(corrections) {
    this.#corrections = corrections;
    this.draw();
  }

  /** Draw what is in sight now: after a change, after scrolling. */
  draw() {
    if (!Highlights.supported) return;
    const frame = this.#surface.root.closest("#page").getBoundingClientRect();
    const { height, top, bottom } = frame;
    const sight = this.#surface.between(top - height, bottom + height);
    const corrections = this.#corrections.filter((one) => one.end >= sight.start && one.start <= sight.end);
    const wanted = new Set(corrections);
    for (const [one, { range, kind }] of this.#ranges) {
      if (wanted.has(one)) continue;
      this.#kinds[kind].delete(range);
      this.#ranges.delete(one);
    }
    for (const one of corrections) {
      const [start, end] = one.span;
      const [from, to] = [this.#surface.locate(start), this.#surface.locate(end)];
      const known = this.#ranges.get(one);
      if (known) {
        const { range } = known;
        const same =
          range.startContainer === from.node && range.startOffset === from.offset &&
          range.endContainer === to.node && range.endOffset === to.offset;
        if (same) continue;
        range.setStart(from.node, from.offset);
        range.setEnd(to.node, to.offset);
      } else {
        const range = this.#surface.range(start, end);
        this.#kinds[one.category].add(range);
        this.#ranges.set(one, { range, kind: one.category });
      }
    }
  }

  /** Mark the correction whose card is open; null for none. */
  activate(one) {
    if (!this.#active) return;
    this.#active.clear();
    if (one) this.#active.add(this.#surface.range(...one.span));
  }
}
