// What is said: to everybody in a toast, to screen readers in a live region.

import { byId, h, icon } from "./dom.js";

const LONG = 8000; // ms that Undo is there at least, while the user goes on writing

let toastTimer = 0;
let offered = null; // when the toast came, if it has a button
let voiceTimer = 0;

/**
 * A line at the bottom for some seconds. With an `action` {label, run} it stays until it is used,
 * closed, or the user goes on writing: nobody must hurry.
 */
export function tell(text, action = null) {
  const toast = byId("toast");
  const buttons = action ? [
    h("button", { type: "button", on: { click: () => { hide(); action.run(); } } }, action.label),
    h("button", { type: "button", "aria-label": "Close", on: { click: hide } }, icon("close")),
  ] : [];
  toast.replaceChildren(h("span", {}, text), ...buttons);
  toast.classList.add("is-shown");
  clearTimeout(toastTimer);
  offered = action ? performance.now() : null;
  if (!action) toastTimer = setTimeout(hide, 4500);
}

/** The user goes on: an offer that was there for a while may go. */
export function goneOn() {
  if (offered !== null && performance.now() - offered > LONG) hide();
}

function hide() {
  const toast = byId("toast");
  toast.classList.remove("is-shown");
  offered = null;
  if (toast.contains(document.activeElement)) byId("text").focus({ preventScroll: true });
}

/** Spoken only, and only the last of several: nobody wants a count at every letter. */
export function say(text, delay = 900) {
  clearTimeout(voiceTimer);
  voiceTimer = setTimeout(() => {
    byId("voice").textContent = text;
  }, delay);
}
