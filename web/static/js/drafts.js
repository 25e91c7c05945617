// Stores the text while it is written: in the tab until the tab is closed, and in the browser if
// the user wants that. Each tab has a draft of its own, so two tabs never overwrite each other; a
// new tab takes up the newest draft that no tab has open.

import { inBrowser, onPage } from "./storage.js";

const PREFIX = "draft";

export class Drafts extends EventTarget {
  #name = "";
  #release = () => {};

  /** Dispatches "moved" when the text must be stored anew. */
  constructor() {
    super();
    addEventListener("pagehide", () => this.#release());
    addEventListener("pageshow", async ({ persisted }) => { // back from the browser's memory
      if (!persisted || (await this.#claim(this.#name))) return;
      await this.#claim(fresh());
      this.dispatchEvent(new Event("moved"));
    });
    addEventListener("storage", ({ key, newValue }) => { // a page without TLS has no locks
      if (key !== `gec.${this.#name}` || newValue === null) return;
      this.#claim(fresh());
      this.dispatchEvent(new Event("moved"));
    });
  }

  /** Open a draft: returns {draft, more}, the number of drafts left; draft may be null. */
  async open(keep) {
    const own = onPage.get("draft");
    const name = onPage.get("tab");
    const known = typeof name === "string" && name.startsWith(PREFIX);
    if (!known || !(await this.#claim(name))) await this.#claim(fresh());
    if (own || !keep) return { draft: own, more: 0 };
    const all = names();
    for (const [index, other] of all.entries()) {
      if (!(await this.#claim(other))) continue;
      return { draft: inBrowser.get(other), more: await closed(all.slice(index + 1)) };
    }
    return { draft: null, more: 0 };
  }

  /** Store a draft in the tab, and with `keep` in the browser; false if the browser refuses. */
  store(draft, keep) {
    if (!this.#name) return true; // not open yet; a later call stores the draft
    const stored = onPage.set("draft", draft) && onPage.set("tab", this.#name);
    if (!keep) return stored;
    return inBrowser.set(this.#name, draft.text === "" ? null : { ...draft, time: Date.now() });
  }

  /** Remove all drafts from the browser; returns the number of others, and a way back. */
  clear() {
    const found = names().map((name) => [name, inBrowser.get(name)]);
    for (const [name] of found) inBrowser.set(name, null);
    return {
      others: found.filter(([name]) => name !== this.#name).length,
      restore: () => found.forEach(([name, draft]) => inBrowser.set(name, draft)),
    };
  }

  /** Take a draft as this tab's own; false if another tab has it. */
  async #claim(name) {
    if (!navigator.locks) {
      this.#name = name;
      return true;
    }
    const release = await locked(name);
    if (!release) return false;
    this.#release();
    this.#release = release;
    this.#name = name;
    return true;
  }
}

const fresh = () => `${PREFIX}.${crypto.getRandomValues(new Uint32Array(2)).join("")}`;

/** The drafts in the browser, the newest first. */
function names() {
  const time = (name) => inBrowser.get(name)?.time ?? 0;
  return inBrowser.keys(PREFIX).sort((a, b) => time(b) - time(a));
}

/** How many of these drafts no tab has open. */
async function closed(drafts) {
  if (!navigator.locks) return 0;
  const { held } = await navigator.locks.query();
  const open = new Set(held.map(({ name }) => name));
  return drafts.filter((name) => !open.has(`gec.${name}`)).length;
}

/** Lock a name until the tab is closed; returns its release, or null if another tab has it. */
function locked(name) {
  return new Promise((done) => {
    navigator.locks
      .request(`gec.${name}`, { ifAvailable: true }, (lock) => {
        if (!lock) return done(null);
        return new Promise((release) => done(release));
      })
      .catch(() => done(() => {}));
  });
}
