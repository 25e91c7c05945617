// Messages: for everybody in a toast, for screen readers in a live region.

import { byId, h, icon } from "./dom.js";

const LONG = 8000; // ms that Undo stays at least while the user goes on writing

let toastTimer = 0;
let offered = null; // time at which the toast came, if it has a button
let voiceTimer = 0;

/**
 * Show a line at the bottom for some seconds. With an `action` {label, run} the line stays until
 * the user takes the action, closes the line or goes on writing: nobody must hurry.
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

/** The user goes on writing: an offer that has stood long enough disappears. */
export function goneOn() {
  if (offered !== null && performance.now() - offered > LONG) hide();
}

function hide() {
  const toast = byId("toast");
  toast.classList.remove("is-shown");
  offered = null;
  if (toast.contains(document.activeElement)) byId("text").focus({ preventScroll: true });
}

/** Speak a text, but only the last of several: nobody wants a count at every letter. */
export function say(text, delay = 900) {
  clearTimeout(voiceTimer);
  voiceTimer = setTimeout(() => {
    byId("voice").textContent = text;
  }, delay);
}
