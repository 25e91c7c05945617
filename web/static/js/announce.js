// What is said: to everybody in a toast, to screen readers in a live region.

import { byId, h } from "./dom.js";

let toastTimer = 0;
let voiceTimer = 0;

/** A line at the bottom for some seconds; `action` is {label, run}. */
export function tell(text, action = null) {
  const toast = byId("toast");
  const button = action && h("button", {
    type: "button",
    on: { click: () => { hide(); action.run(); } },
  }, action.label);
  const hide = () => toast.classList.remove("is-shown");
  toast.replaceChildren(h("span", {}, text), ...(button ? [button] : []));
  toast.classList.add("is-shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(hide, action ? 8000 : 4500);
}

/** Spoken only, and only the last of several: nobody wants a count at every letter. */
export function say(text, delay = 900) {
  clearTimeout(voiceTimer);
  voiceTimer = setTimeout(() => {
    byId("voice").textContent = text;
  }, delay);
}
