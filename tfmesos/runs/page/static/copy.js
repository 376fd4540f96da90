// A button that puts a text into the clipboard.

import { el, setText } from "./dom.js";
import { notice } from "./question.js";

const SAID_FOR = 2000; // milliseconds

export function copyButton(what, text) {
  const button = el("button", { type: "button", class: "plain copy", "aria-label": `Copy ${what}` }, "Copy");
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setText(button, "Copied");
      setTimeout(() => setText(button, "Copy"), SAID_FOR);
    } catch {
      notice("The browser does not allow this page to copy. Select the text instead.");
    }
  };
  return button;
}
