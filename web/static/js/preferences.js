// The user's settings: strictness, looks, what is kept, and whether decisions are sent.

import { byId, h, icon, plural } from "./dom.js";
import { inBrowser } from "./storage.js";

/** Colour scheme and typeface; storage remembers, the style sheet does the rest. */
export function looks() {
  for (const name of ["theme", "font"]) {
    const chosen = inBrowser.get(name, name === "theme" ? "auto" : "serif");
    for (const input of document.querySelectorAll(`input[name=${name}]`)) {
      input.checked = input.value === chosen;
      input.addEventListener("change", () => {
        document.documentElement.dataset[name] = input.value;
        inBrowser.set(name, input.value);
      });
    }
  }
}

/** A switch whose state is remembered, off at first; calls `changed` at every change. */
export function remembered(id, key, changed = () => {}) {
  const input = byId(id);
  input.checked = inBrowser.get(key, false) === true;
  const set = (on) => {
    input.checked = on;
    inBrowser.set(key, on || null);
    changed(on);
  };
  input.addEventListener("change", () => set(input.checked));
  addEventListener("storage", (event) => { // all tabs share the switch
    if (event.key !== `gec.${key}` || input.checked === (event.newValue === "true")) return;
    input.checked = event.newValue === "true";
    changed(input.checked);
  });
  return { get on() { return input.checked && !input.closest("[hidden]"); }, set };
}

/** Nats of tolerance above a model's only setting, for fewer and surer corrections. */
const SURER = 2;

/** The slider: the model's settings, from the fewest and surest corrections to the most. */
export class Strictness {
  #input = byId("strictness");
  #names = [];
  #options = {}; // name -> options for the API

  constructor(changed) {
    this.#input.addEventListener("input", () => this.#show());
    this.#input.addEventListener("change", () => {
      inBrowser.set("setting", this.name);
      changed(this.name);
    });
  }

  get name() {
    return this.#names[Number(this.#input.value)] ?? "";
  }

  get options() {
    return this.#options[this.name] ?? {};
  }

  fill(settings, usual) {
    this.#options = Object.fromEntries(Object.keys(settings).map((name) => [name, { setting: name }]));
    if (Object.keys(settings).length === 1) { // a model without settings of its own
      const { tolerance, min_confidence } = settings[usual];
      settings = {
        precise: { tolerance: tolerance + SURER, min_confidence },
        [usual]: settings[usual],
        thorough: { tolerance: 0, min_confidence },
      };
      this.#options = { precise: settings.precise, thorough: settings.thorough, ...this.#options };
    }
    const sure = ([, a], [, b]) => b.tolerance - a.tolerance || b.min_confidence - a.min_confidence;
    this.#names = Object.entries(settings).sort(sure).map(([name]) => name);
    const chosen = inBrowser.get("setting");
    this.#input.max = String(Math.max(0, this.#names.length - 1));
    this.#input.value = String(this.#names.indexOf(this.#names.includes(chosen) ? chosen : usual));
    this.#input.disabled = this.#names.length < 2;
    this.#show();
  }

  #show() {
    const name = this.name.charAt(0).toUpperCase() + this.name.slice(1);
    byId("strictness-name").textContent = name;
    this.#input.setAttribute("aria-valuetext", name);
    const part = Number(this.#input.value) / Math.max(1, Number(this.#input.max));
    this.#input.style.setProperty("--part", String(part));
  }
}

/** The dialog that shows, fills, saves and loads the personal dictionary. */
export function dictionaryDialog(dictionary, { save, tell }) {
  const [dialog, field, list] = [byId("dictionary"), byId("dictionary-word"), byId("dictionary-list")];
  const draw = () => {
    const words = dictionary.words;
    byId("dictionary-count").textContent = words.length ? plural(words.length, "word") : "no words yet";
    list.replaceChildren(...words.map((word) =>
      h("li", {}, h("span", {}, word),
        h("button", {
          type: "button", class: "round", "aria-label": `Remove ${word}`, title: "Remove",
          on: { click: () => { dictionary.remove(word); field.focus(); } },
        }, icon("close")))));
  };
  dictionary.addEventListener("change", draw);
  draw();
  const add = () => {
    if (dictionary.add(field.value)) field.value = "";
    field.focus();
  };
  byId("dictionary-add").addEventListener("click", add);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) add();
  });
  byId("dictionary-export").addEventListener("click", () => save("dictionary.txt", dictionary.exported()));
  byId("dictionary-file").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    event.target.value = "";
    if (!file) return;
    const words = (await file.text()).replace(/^\ufeff/, "").split(/\r?\n/);
    tell(`${plural(dictionary.add(...words), "new word")} from ${file.name}.`);
  });
  byId("dictionary-import").addEventListener("click", () => byId("dictionary-file").click());
  byId("open-dictionary").addEventListener("click", () => {
    byId("preferences").hidePopover();
    dialog.showModal();
    field.focus();
  });
}
