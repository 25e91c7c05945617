// The editor page: puts the parts together.

import * as api from "./api.js";
import { goneOn, say, tell } from "./announce.js";
import { Card, TITLES } from "./card.js";
import { drawChanges } from "./changes.js";
import { Checker } from "./checker.js";
import { Decoding } from "./decoding.js";
import { Dictionary, wordOf } from "./dictionary.js";
import { Document, KINDS } from "./document.js";
import { byId, debounce, plural } from "./dom.js";
import { Drafts } from "./drafts.js";
import { Feedback } from "./feedback.js";
import * as files from "./files.js";
import { Highlights } from "./highlights.js";
import { COMMAND, isCommand, mac, nameKeys } from "./keys.js";
import { Panel, spoken } from "./panel.js";
import { Strictness, dictionaryDialog, looks, remembered } from "./preferences.js";
import { Surface } from "./surface.js";

const SAMPLE = `# A letter from the coast

Yesterday we was walking along the beach and see two dolphin near the harbour. It were teh most beautiful thing I have ever saw. My brother, which lives here since five years, says that they comes every summer.

We have rent a small house with a garden. In the morning I drinks coffee outside and reads an book about the history of Cornwall. The weather have been definately better than last year.

Code stays as it is: \`npm run biuld\` is never touched, and https://example.org/teh-page is safe too.

I am looking forward to see you soon.
`;

/** Milliseconds without a key stroke after which a correction at the caret is shown, too. */
const PATIENCE = 1500;
const NEVER = -Infinity;

const surface = new Surface(byId("text"));
const dictionary = new Dictionary();
const doc = new Document(dictionary);
const checker = new Checker(api.correct);
const highlights = new Highlights(surface);
const drafts = new Drafts();
const feedback = new Feedback(api.sendFeedback);
const file = { name: "", newline: "\n", bom: false };
let view = "write";
let ready = false; // the server's settings are known
let consent = { on: false };
let taken = ""; // the text that the user last saved to a file or copied to the clipboard
let typedAt = NEVER;
let caret = 0; // the last place of the caret in the text
let model = null;

const card = new Card(surface, {
  accept: (one) => accept([one]),
  ignore,
  ignoreWord,
  step: (way) => step(way),
  leave: () => {
    card.close();
    panel.focus();
  },
  changed: () => {
    highlights.activate(card.current);
    drawPanel();
  },
});
const panel = new Panel({
  open: (one) => show(one, { focus: true }),
  accept: (one) => accept([one], { stay: true }),
  ignore,
  acceptAll: (kind) =>
    accept(doc.open.filter(({ category }) => !kind || category === kind), { stay: true }),
  undo: undoAccepted,
  restore: (mark) => {
    feedback.takeBack(mark.id);
    doc.restore(mark);
    render();
  },
  step: (way) => step(way),
});
const decoding = new Decoding((start, end) => {
  choose("write");
  surface.root.focus({ preventScroll: true });
  surface.select(start, end);
  reveal(start, end);
});
const strictness = new Strictness(ask);

// ------------------------------------------------------------------------------------- the text

surface.addEventListener("change", ({ detail }) => {
  if (detail.typed) typedAt = performance.now();
  for (const id of doc.update(surface.text, detail.changes)) feedback.takeBack(id);
  caret = surface.selection()?.start ?? caret;
  if (card.current && detail.typed) card.close();
  refresh({ soon: !detail.typed });
  store();
  if (detail.typed) later();
  if (detail.typed) goneOn();
});

surface.addEventListener("composed", () => refresh());

const later = debounce(() => render(), PATIENCE);

/** Ask for all paragraphs anew, because the options have changed. */
function ask() {
  doc.rekey(`${strictness.name} ${consent.on}`);
  refresh({ soon: true });
}

/** Ask for the answers that are missing, and show those that are there. */
function refresh({ soon = false } = {}) {
  if (ready) {
    const near = ({ start, text }) => Math.max(start - caret, caret - start - text.length, 0);
    const wanted = doc.paragraphs
      .filter(({ key }) => !checker.settled(key))
      .sort((a, b) => near(a) - near(b));
    // a phone's keyboard composes every word, so words being composed must be sent in the end
    const pause = surface.composing ? PATIENCE : undefined;
    const options = { ...strictness.options, ...(consent.on && { feedback: true }) };
    checker.want(wanted, options, { soon, pause });
  }
  doc.settle((key) => checker.answer(key));
  render();
}

/** Whether a correction must wait, because the user is still writing its word. */
function held(one) {
  if (performance.now() - typedAt >= PATIENCE || document.activeElement !== surface.root) return false;
  const [start, end] = one.span;
  return start <= caret && caret <= end;
}

function visible() {
  return doc.open.filter((one) => one === card.current || !held(one));
}

function render() {
  const shown = visible();
  if (card.current && !doc.open.includes(card.current)) card.close();
  highlights.show(shown);
  surface.root.classList.toggle("is-empty", doc.text === "");
  byId("sample").hidden = doc.text !== "";
  drawPanel();
  drawRest();
}

const drawRest = debounce(() => {
  const { words, sentences } = doc.size;
  byId("size").textContent = `${plural(words, "word")} · ${plural(sentences, "sentence")}`;
  if (view === "changes") drawChanges(doc);
  if (view === "decoding") decoding.draw(doc.paragraphs);
  sayCounts();
}, 150);

function drawPanelNow() {
  panel.draw({
    open: visible(), accepted: doc.accepted, ignored: doc.ignored, current: card.current,
    empty: doc.text.trim() === "",
    waiting: doc.paragraphs.some(({ key }) => !checker.settled(key)),
  });
}
const drawPanel = debounce(drawPanelNow, 60);

let said = "";
function sayCounts() {
  if (doc.paragraphs.some(({ key }) => !checker.settled(key))) return;
  const open = visible();
  const kinds = KINDS.map((kind) => [open.filter(({ category }) => category === kind).length, kind]);
  const parts = kinds.filter(([count]) => count).map((pair) => pair.join(" "));
  const text = open.length
    ? `${plural(open.length, "correction")}: ${parts.join(", ")}` : "No corrections";
  if (text === said || (said === "" && !open.length)) return;
  said = text;
  say(text);
}

// ----------------------------------------------------------------------------------- corrections

function accept(wanted, { stay = false } = {}) {
  const open = new Set(doc.open);
  const corrections = wanted.filter((one) => open.has(one)); // a click may come twice
  if (!corrections.length) return;
  for (const one of corrections) feedback.decide(one.id, one.shown, "accepted");
  const focus = document.activeElement;
  const scroll = byId("page").scrollTop;
  const { edits, done } = doc.accept(corrections);
  surface.edit(edits);
  doc.remember(done);
  if (stay) focus?.focus({ preventScroll: true });
  if (corrections.length > 1) {
    byId("page").scrollTop = scroll;
    tell(`${plural(corrections.length, "correction")} accepted.`, { label: "Undo", run: () => surface.undo() });
  } else say(`Accepted: ${spoken(corrections[0])}`, 100);
  render();
  drawPanelNow();
}

function undoAccepted(done) {
  if (!doc.accepted.includes(done)) return;
  const focus = document.activeElement;
  doc.accepted = doc.accepted.filter((other) => other !== done);
  surface.edit([{ start: done.start, end: done.end, replacement: done.original }]);
  focus?.focus({ preventScroll: true });
  render();
}

function ignore(one) {
  if (!doc.open.includes(one)) return;
  feedback.decide(doc.ignore(one).id, one.shown, "ignored");
  say(`Ignored: ${spoken(one)}`, 100);
  store();
  render();
  drawPanelNow();
}

function ignoreWord(one) {
  const word = wordOf(one.original);
  if (!word) return ignore(one);
  feedback.decide(one.id, one.shown, "ignored");
  dictionary.add(word);
  tell(
    dictionary.stored ? `“${word}” is in your dictionary.`
      : `“${word}” is in your dictionary until you leave: the browser stores nothing.`,
    {
      label: "Undo",
      run: () => {
        feedback.takeBack(one.id);
        dictionary.remove(word);
      },
    },
  );
}

dictionary.addEventListener("change", () => {
  doc.rekey();
  refresh({ soon: true });
});

// ------------------------------------------------------------------------------------- the card

function show(one, { focus = false } = {}) {
  if (view !== "write") choose("write");
  panel.toggle(false);
  const open = visible();
  const [start, end] = one.span;
  if (focus) {
    surface.root.focus({ preventScroll: true });
    surface.select(end);
    caret = end;
    reveal(start, end);
  }
  card.open(one, { index: open.indexOf(one), total: open.length, focus });
  if (!focus) say(`${TITLES[one.category]}: ${spoken(one)}. Enter accepts, Tab goes to the card.`, 100);
}

/** The next or the previous correction, round and round. */
function step(way) {
  const open = doc.open;
  if (!open.length) return say("No corrections", 0);
  const at = card.current ? card.current.start : caret;
  const next = way > 0
    ? open.find((one) => (card.current ? one.start > at : one.span[1] > at)) ?? open[0]
    : open.findLast((one) => one.start < at) ?? open.at(-1);
  show(next, { focus: true });
}

function correctionAt(offset) {
  return visible().find((one) => {
    const [start, end] = one.span;
    return start <= offset && offset <= end;
  });
}

/** Scroll a span of the text to a place where it is easy to read. */
function reveal(start, end) {
  const page = byId("page");
  for (let tries = 0; tries < 2; tries++) { // blocks out of sight have no exact height yet
    const place = surface.range(start, end).getBoundingClientRect();
    const frame = page.getBoundingClientRect();
    const low = frame.bottom - Math.min(320, frame.height / 2);
    if (place.top > frame.top + 40 && place.bottom < low) return;
    page.scrollTop += place.top - frame.top - frame.height / 3;
  }
}

surface.root.addEventListener("click", (event) => {
  const selection = surface.selection();
  if (!selection || selection.start !== selection.end) return;
  caret = selection.start;
  typedAt = NEVER;
  const offset = surface.offsetAt(event.clientX, event.clientY);
  const one = offset === null ? undefined : correctionAt(offset);
  const inside = one && [...surface.range(...one.span).getClientRects()].some(
    ({ left, right, top, bottom }) =>
      event.clientX >= left - 2 && event.clientX <= right + 2 &&
      event.clientY >= top - 2 && event.clientY <= bottom + 6,
  );
  if (inside) show(one);
  else card.close();
});

document.addEventListener("selectionchange", () => {
  const selection = surface.selection();
  if (!selection || document.activeElement !== surface.root) return;
  if (selection.start === caret) return;
  caret = selection.start;
  if (card.current && !card.hasFocus) {
    const [start, end] = card.current.span;
    if (caret < start || caret > end) card.close();
  }
  if (typedAt !== NEVER) { // the caret went elsewhere, so the word is finished
    typedAt = NEVER;
    render();
  }
  if (!card.current) {
    const one = correctionAt(caret);
    if (one) say(`Correction: ${spoken(one)}. ${COMMAND} period opens it.`, 700);
  }
});

let scrolled = 0;
for (const [target, type] of [[byId("page"), "scroll"], [window, "resize"]]) {
  target.addEventListener(type, () => {
    cancelAnimationFrame(scrolled);
    scrolled = requestAnimationFrame(() => {
      highlights.draw();
      card.place();
    });
  }, { passive: true });
}

// ------------------------------------------------------------------------------------- keyboard

addEventListener("keydown", (event) => {
  const composing = event.isComposing || event.keyCode === 229; // 229: Safari's last composing key
  if (composing || document.querySelector("dialog[open]")) return;
  const control = isCommand(event);
  const inText = document.activeElement === surface.root;
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  const alt = event.altKey && !event.ctrlKey && !event.metaKey && !mac;
  const run = (action) => {
    event.preventDefault();
    action();
  };
  if (event.key === "F8") run(() => step(event.shiftKey ? -1 : 1));
  else if (alt && event.key === "ArrowDown") run(() => step(1));
  else if (alt && event.key === "ArrowUp") run(() => step(-1));
  else if (control && event.key === ".") run(openHere);
  else if (control && !event.shiftKey && event.key.toLowerCase() === "s") run(save);
  else if (control && !event.shiftKey && event.key.toLowerCase() === "o") run(() => byId("file").click());
  else if (event.key === "Escape" && card.current) run(() => card.close({ back: true }));
  else if (event.key === "Escape" && byId("panel").contains(document.activeElement)) {
    run(() => {
      panel.toggle(false);
      surface.root.focus({ preventScroll: true });
    });
  } else if (inText && card.current && plain && event.key === "Enter") {
    run(() => {
      const one = card.current;
      card.close();
      accept([one]);
    });
  } else if (inText && card.current && plain && event.key === "Tab") run(() => card.focus());
});

function openHere() {
  const one = correctionAt(caret) ?? (card.current || null);
  if (one) show(one, { focus: true });
  else say("No correction here", 0);
}

// ---------------------------------------------------------------------------------------- views

const tabs = [...document.querySelectorAll("[role=tab]")];

function choose(name) {
  if (view === name) return;
  view = name;
  card.close();
  for (const tab of tabs) {
    const on = tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    byId(`view-${tab.dataset.view}`).hidden = !on;
  }
  document.body.dataset.view = name;
  byId("page").scrollTop = 0;
  highlights.draw();
  drawRest();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab.dataset.view));
  tab.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + way + tabs.length) % tabs.length];
    next.focus();
    choose(next.dataset.view);
  });
}

// ---------------------------------------------------------------------------------------- files

async function open(chosen) {
  try {
    const { name, text, newline, bom, encoding } = await files.read(chosen);
    choose("write");
    const had = doc.text !== "";
    Object.assign(file, { name, newline, bom });
    surface.replaceAll(text);
    surface.select(0);
    byId("page").scrollTop = 0;
    caret = 0;
    taken = doc.text;
    named();
    store();
    const odd = encoding === "utf-8" ? "" : ` It was read as ${encoding} and will be saved as UTF-8.`;
    tell(`${name} is open.${odd}`, had ? { label: "Undo", run: () => surface.undo() } : null);
  } catch (error) {
    tell(`${error.message}.`);
  }
}

function save() {
  const name = file.name || "text.txt";
  files.save(name, doc.text, file);
  taken = doc.text;
  tell(`Saved as ${name}.`);
}

function named() {
  byId("file-name").textContent = file.name || "Untitled";
  document.title = file.name ? `${file.name} – gec` : "gec – write, and see it corrected";
}

async function copy() {
  const text = doc.corrected();
  const count = doc.open.length;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copiedByHand(text)) return tell("The browser does not let this page copy.");
  }
  taken = doc.text;
  tell(count ? `Copied, with ${plural(count, "correction")} made.` : "Copied.");
}

/** For pages without a secure connection, which have no clipboard. */
function copiedByHand(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  surface.root.focus({ preventScroll: true });
  return done;
}

byId("open").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", (event) => {
  const chosen = event.target.files[0];
  event.target.value = ""; // so that the same file can be opened again
  if (chosen) open(chosen);
});
byId("save").addEventListener("click", save);
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", copy);
byId("sample").addEventListener("click", () => {
  surface.replaceAll(SAMPLE);
  taken = SAMPLE;
  surface.select(0);
  byId("page").scrollTop = 0;
});
files.onDrop(open, (over) => document.body.classList.toggle("is-dropping", over));

// --------------------------------------------------------------------------------- what is kept

const keep = remembered("keep", "keep", (on) => {
  if (on) return store();
  const { others, restore } = drafts.clear();
  if (!others) return;
  tell(`${plural(others, "other text")} that this browser kept ${others > 1 ? "are" : "is"} removed.`, {
    label: "Undo",
    run: () => {
      restore();
      keep.set(true);
    },
  });
});

let safe = false; // the browser keeps the text when the tab is closed
let warned = false;

/** Store the text in this tab until it is closed, and in the browser only if the user wants it. */
function storeNow() {
  const draft = { text: doc.text, file, ignored: doc.ignored, taken: doc.text === taken };
  const stored = drafts.store(draft, keep.on);
  safe = stored && keep.on;
  if (!stored && !warned) {
    tell("This browser stores no more: your text is only here.", { label: "Save", run: save });
  }
  warned = !stored;
}
const store = debounce(storeNow, 400);
drafts.addEventListener("moved", storeNow);
addEventListener("pagehide", storeNow);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") storeNow();
});
addEventListener("beforeunload", (event) => {
  storeNow();
  if (doc.text.trim() !== "" && doc.text !== taken && !safe) event.preventDefault();
});

async function restore() {
  const { draft, more } = await drafts.open(keep.on);
  if (typeof draft?.text !== "string" || doc.text !== "") return; // written meanwhile
  Object.assign(file, draft.file);
  if (draft.taken) taken = draft.text;
  doc.ignored = Array.isArray(draft.ignored) ? draft.ignored : [];
  const marks = doc.ignored.map(({ start }) => start);
  surface.fill(draft.text);
  doc.ignored.forEach((mark, index) => { mark.start = marks[index]; });
  if (more) tell(`${plural(more, "more text")} kept in this browser: a new tab opens the next.`);
}

// --------------------------------------------------------------------------------------- server

checker.addEventListener("answers", () => {
  doc.settle((key) => checker.answer(key));
  render();
});

checker.addEventListener("state", ({ detail }) => {
  const { kind, message, left, ms } = detail;
  const state = byId("state");
  state.dataset.kind = kind;
  if (kind === "busy") state.textContent = left > 2 ? `Reading, ${left} paragraphs left` : "Reading …";
  else if (kind === "idle") {
    const empty = doc.paragraphs.length === 0;
    if (empty) state.textContent = "Ready";
    else if (ms !== undefined) state.textContent = `Checked in ${Math.max(1, Math.round(ms))} ms`;
    else state.textContent = "Checked";
  } else if (kind === "waiting") state.textContent = `Your text is safe; trying again: ${message}`;
  else if (kind === "refused") state.textContent = `Not all was read: ${message}`;
  else askToken();
  if (kind === "idle") byId("enter-token").hidden = true;
  drawPanel();
});

addEventListener("online", () => checker.retry());

/** Ask for the token; a user who closes the dialog can go on writing, and open it later. */
function askToken() {
  const dialog = byId("token");
  byId("state").dataset.kind = "locked";
  byId("state").textContent = "This server needs a token";
  byId("enter-token").hidden = false;
  byId("token-wrong").textContent = api.hasToken() ? "The server did not accept that token." : "";
  if (!dialog.open) dialog.showModal();
}

byId("enter-token").addEventListener("click", () => byId("token").showModal());

byId("token-form").addEventListener("submit", () => {
  api.setToken(byId("token-value").value.trim());
  // wait until the dialog has closed, because an immediate answer may open it again
  setTimeout(() => (ready ? checker.retry() : connect()));
});

async function connect() {
  try {
    const answer = await api.settings();
    Object.assign(checker.limits, answer.limits);
    model = answer.model;
    strictness.fill(answer.settings, answer.default);
    byId("feedback-choice").hidden = !answer.feedback;
    byId("model").textContent = `${model.name} · gec ${model.gec}`;
    byId("state").dataset.kind = "idle";
    byId("state").textContent = "Ready";
    byId("enter-token").hidden = true;
    ready = true;
    ask();
  } catch (error) {
    if (error.status === 401) return askToken();
    byId("state").dataset.kind = "waiting";
    byId("state").textContent = "No connection to the server; trying again";
    setTimeout(connect, Math.max(3, error.retryAfter ?? 0) * 1000);
  }
}

// ---------------------------------------------------------------------------------------- begin

for (const button of document.querySelectorAll("[data-click]")) {
  button.addEventListener("click", () => {
    byId("preferences").hidePopover();
    byId(button.dataset.click).click();
  });
}
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
byId("open-keys").addEventListener("click", () => {
  byId("preferences").hidePopover();
  byId("keys").showModal();
});
looks();
nameKeys();
consent = remembered("feedback", "feedback", (on) => {
  if (!on) {
    feedback.forget();
    doc.forgetShown();
    checker.forget();
  }
  ask();
});
dictionaryDialog(dictionary, { save: files.save, tell });
if (!Highlights.supported) tell("This browser cannot underline; all corrections are in the list.");
await restore();
named();
render();
connect();
