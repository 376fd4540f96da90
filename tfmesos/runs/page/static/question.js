// Asks before something is done, has it done, and says what went wrong.

import { byId, setText } from "./dom.js";

export function asked(title, text, yes) {
  const dialog = byId("question");
  setText(byId("question-title"), title);
  setText(byId("question-text"), text);
  setText(byId("question-yes"), yes);
  return new Promise((resolve) => {
    byId("question-yes").onclick = () => dialog.close("yes");
    byId("question-no").onclick = () => dialog.close("no");
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
    dialog.returnValue = "";
    dialog.showModal();
    byId("question-no").focus();
  });
}

export async function order(what) {
  notice("");
  try {
    const answer = await fetch("order", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(what),
    });
    const text = await answer.text();
    if (answer.ok) return text;
    notice(text);
  } catch {
    notice("The server does not answer: is tfrun ui still running?");
  }
  return null;
}

export function notice(text) {
  setText(byId("notice"), text);
  byId("notice").hidden = !text;
}
