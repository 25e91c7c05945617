// The side panel: all corrections by kind, what was accepted and what is ignored.

import { TITLES, change, sureness } from "./card.js";
import { KINDS } from "./document.js";
import { byId, h, icon, plural } from "./dom.js";

const FIRST = 60; // rows of a group until more are asked for

export class Panel {
  #act;
  #drawn = "";
  #shown = new Map(); // group -> rows

  /** `act` has open, accept, ignore (of a correction), acceptAll(kind), undo and restore. */
  constructor(act) {
    this.#act = act;
    byId("accept-all").addEventListener("click", () => act.acceptAll(null));
    byId("next").addEventListener("click", () => act.step(1));
    byId("previous").addEventListener("click", () => act.step(-1));
    byId("panel-toggle").addEventListener("click", () => this.toggle());
  }

  /** Open or close the panel, which is a sheet on a phone. */
  toggle(open = byId("panel-toggle").getAttribute("aria-expanded") !== "true") {
    byId("panel-toggle").setAttribute("aria-expanded", String(open));
    byId("panel").classList.toggle("is-open", open);
  }

  /** Focus the panel's first control that can be used. */
  focus() {
    const buttons = [...byId("panel").querySelectorAll("button:not(:disabled)")];
    (buttons.find((button) => button.checkVisibility()) ?? byId("panel")).focus();
  }

  draw({ open, accepted, ignored, current, empty, waiting }) {
    const drawn = JSON.stringify([
      open.map((one) => [one.id, one.replacement]), accepted.map(({ id }) => id),
      ignored.map(({ id }) => id), current?.id ?? 0, empty, waiting, [...this.#shown],
    ]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const again = () => {
      this.#drawn = "";
      this.draw({ open, accepted, ignored, current, empty, waiting });
    };
    byId("count").textContent = String(open.length);
    byId("sheet-count").textContent = open.length ? plural(open.length, "correction")
      : waiting ? "Reading …" : empty ? "No text yet" : "Nothing to correct";
    for (const id of ["accept-all", "next", "previous"]) byId(id).disabled = !open.length;
    const focused = this.#focused();
    byId("groups").replaceChildren(
      ...(open.length ? [] : [message(empty, waiting)]),
      ...KINDS.map((kind) => this.#group(kind, open, current, again)),
      this.#closed("accepted", "Accepted", accepted, "undo", "Undo", this.#act.undo),
      this.#closed("ignored", "Ignored", ignored, "undo", "Restore", this.#act.restore),
    );
    this.#refocus(focused);
    const marked = byId("groups").querySelector("[aria-current]");
    marked?.scrollIntoView({ block: "nearest" });
  }

  #group(kind, open, current, again) {
    const own = open.filter(({ category }) => category === kind);
    if (!own.length) return "";
    const many = this.#shown.get(kind) ?? FIRST;
    const title = `group-${kind}`;
    return h("section", { class: "group", "aria-labelledby": title, data: { kind } },
      h("header", {},
        h("h3", { id: title },
          h("span", { class: "mark", "aria-hidden": "true" }, "ab"),
          TITLES[kind], " ", h("span", { class: "number" }, own.length.toLocaleString("en"))),
        h("button", {
          type: "button", class: "quiet small", data: { key: `all ${kind}` },
          "aria-label": `Accept all ${own.length} of ${TITLES[kind].toLowerCase()}`,
          on: { click: () => this.#act.acceptAll(kind) },
        }, "Accept all")),
      h("ul", {}, own.slice(0, many).map((one) => this.#row(one, one === current))),
      own.length > many
        ? h("button", {
            type: "button", class: "quiet small more", data: { key: `more ${kind}` },
            on: { click: () => { this.#shown.set(kind, many + 200); again(); } },
          }, `Show ${plural(Math.min(200, own.length - many), "more", "more")}`)
        : null,
    );
  }

  #row(one, isCurrent) {
    const words = spoken(one);
    return h("li", { class: "row", "aria-current": isCurrent ? "true" : null },
      h("button", {
        type: "button", class: "what", data: { key: `open ${one.id}` },
        on: { click: () => this.#act.open(one) },
      },
        h("span", { class: "words" }, change(one)),
        h("span", { class: "why" }, reason(one)),
        h("span", { class: "sr" }, `, ${sureness(one.confidence)}`)),
      h("span", { class: "does" },
        this.#small("check", `Accept: ${words}`, `accept ${one.id}`, () => this.#act.accept(one)),
        this.#small("close", `Ignore: ${words}`, `ignore ${one.id}`, () => this.#act.ignore(one))),
    );
  }

  #closed(name, title, list, symbol, verb, action) {
    if (!list.length) return "";
    const before = byId("groups").querySelector(`details[data-name=${name}]`);
    const rows = list.slice(-200).reverse();
    return h("details", { class: "done", data: { name }, open: before?.open },
      h("summary", { data: { key: name } }, title, " ", h("span", { class: "number" }, list.length)),
      h("ul", {}, rows.map((one) =>
        h("li", { class: "row" },
          h("span", { class: "what" }, h("span", { class: "words" }, change(one))),
          h("span", { class: "does" },
            this.#small(symbol, `${verb}: ${spoken(one)}`, `${name} ${one.id}`, () => action(one)))))));
  }

  #small(symbol, label, key, action) {
    return h("button", {
      type: "button", class: "round", "aria-label": label, title: label.split(":")[0],
      data: { key }, on: { click: action },
    }, icon(symbol));
  }

  /** Return the place of the focus: the element's key and what came after it in the panel. */
  #focused() {
    const groups = byId("groups");
    if (!groups.contains(document.activeElement)) return null;
    const keys = [...groups.querySelectorAll("[data-key]")].map(({ dataset }) => dataset.key);
    const key = document.activeElement.dataset.key;
    return { key, keys, at: keys.indexOf(key) };
  }

  #refocus(focused) {
    if (!focused) return;
    const stops = new Map([...byId("groups").querySelectorAll("[data-key]")].map((e) => [e.dataset.key, e]));
    const verb = focused.key?.split(" ")[0];
    const after = focused.keys.slice(focused.at).concat(focused.keys.slice(0, focused.at).reverse());
    const key = after.find((k) => stops.has(k) && k.split(" ")[0] === verb);
    (stops.get(key) ?? byId("accept-all")).focus({ preventScroll: true });
    if (document.activeElement === document.body) byId("panel").focus();
  }
}

/** A correction in words, "go to goes", for screen readers. */
export function spoken({ original, replacement }) {
  if (!original.trim()) return `add ${replacement.trim() || "a blank"}`;
  if (!replacement.trim()) return `remove ${original.trim()}`;
  return `${original.trim()} to ${replacement.trim()}`;
}

/** The message without the words that stand above it already. */
function reason({ message: text }) {
  const at = text.indexOf("”: ");
  const short = at < 0 ? text : text.slice(at + 3);
  return short.charAt(0).toUpperCase() + short.slice(1);
}

function message(empty, waiting) {
  const [symbol, title, text] = empty
    ? ["pen", "Write, and see it corrected", "Corrections are listed here while you type."]
    : waiting
      ? ["dots", "Reading …", "The first corrections appear in a moment."]
      : ["check", "Nothing to correct", "Your text reads well at this strictness."];
  return h("div", { class: "nothing" }, icon(symbol), h("h3", {}, title), h("p", {}, text));
}
