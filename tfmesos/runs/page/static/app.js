// Which page is shown, and how one gets to another.

import { byId, setText } from "./dom.js";
import { RunList } from "./list.js";
import { notice } from "./question.js";
import { RunPage } from "./run.js";

let page = null;

function show() {
  page?.end();
  notice("");
  const query = new URLSearchParams(location.search);
  const run = query.get("run");
  setText(byId("here"), run ?? "All runs");
  page = run
    ? new RunPage(byId("main"), run, query.get("task") ?? "")
    : new RunList(byId("main"), query);
  scrollTo(0, 0);
}

// Links within the page need no new document.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  const href = link?.getAttribute("href") ?? "";
  if (!isPlain || !(href === "./" || href.startsWith("?run="))) return;
  event.preventDefault();
  history.pushState(null, "", href);
  show();
  byId("main").focus();
});

addEventListener("popstate", show);
show();
