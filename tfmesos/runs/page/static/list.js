// All runs, the newest first.

import { el, setChildren, setState, setText } from "./dom.js";
import { duration, exactly, moment, now, setClock, stateOf } from "./format.js";
import { Live } from "./live.js";

const COLUMNS = ["Run", "State", "Began", "Time", "Tasks", "Command"];
const AT_FIRST = 200; // rows
const PHASES = ["starting", "running", "stopping", "succeeded", "failed", "stopped", "lost",
  "on another machine"];

export class RunList {
  #rows = new Map();
  #body = el("tbody");
  #runs = [];

  constructor(main, query) {
    document.title = "Runs · tfrun";
    this.#filter(query);
    const head = el("tr", {}, ...COLUMNS.map((name) => el("th", { scope: "col" }, name)));
    this.#show(main, head);
    this.live = new Live({}, { runs: (news) => this.#update(news) });
    this.timer = setInterval(() => this.#tick(), 1000);
  }

  #filter(query) {
    this.phase = el("select", { id: "phase" }, el("option", { value: "" }, "all states"),
      ...PHASES.map((phase) => el("option", { value: phase }, phase)));
    this.find = el("input", { id: "find", type: "search", autocomplete: "off", maxlength: 200,
      spellcheck: "false", placeholder: "Id, tasks or command" });
    this.phase.value = PHASES.includes(query.get("state")) ? query.get("state") : "";
    this.find.value = query.get("find") ?? "";
    this.phase.onchange = () => this.#filtered();
    this.find.oninput = () => this.#filtered();
    this.filter = el("div", { class: "bar", role: "search", hidden: true },
      el("label", { for: "phase" }, "Show"), this.phase,
      el("label", { for: "find", class: "unseen" }, "Filter runs by text"), this.find);
  }

  // What was chosen is in the address, so that the way back leads to it.
  #filtered() {
    const chosen = { state: this.phase.value, find: this.find.value.trim() };
    const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
    history.replaceState(null, "", query.size ? `?${query}` : "./");
    this.#place();
  }

  #matches(run) {
    const text = [run.id, run.tasks, run.command].join("\n").toLowerCase();
    const [phase, find] = [this.phase.value, this.find.value.trim().toLowerCase()];
    return (!phase || run.phase === phase) && text.includes(find);
  }

  #show(main, head) {
    this.empty = el("p", { class: "quiet" }, "Loading the runs…");
    this.more = el("button", { type: "button", hidden: true }, "Show all");
    this.more.onclick = () => this.#showAll();
    this.table = el("table", { class: "runs", hidden: true },
      el("caption", { class: "unseen" }, "Your runs, newest first"),
      el("thead", {}, head), this.#body);
    main.replaceChildren(el("h1", {}, "Runs"), this.filter, this.empty, this.table, this.more);
  }

  end() {
    this.live.end();
    clearInterval(this.timer);
  }

  #showAll() {
    this.isWhole = true;
    this.#place();
  }

  #update(news) {
    setClock(news.now);
    this.#runs = news.runs;
    this.filter.hidden = !news.runs.length;
    this.#place();
  }

  #place() {
    const found = this.#runs.filter((run) => this.#matches(run));
    const shown = this.isWhole ? found : found.slice(0, AT_FIRST);
    this.table.hidden = !found.length;
    this.empty.hidden = Boolean(found.length);
    setText(this.empty, this.#runs.length ? "No run matches."
      : "There are no runs yet. Start one with: tfrun -w 2 -- COMMAND");
    this.more.hidden = shown.length === found.length;
    setText(this.more, `Show all ${found.length} runs`);
    setChildren(this.#body, shown.map((run) => this.#row(run)));
    this.#tick();
  }

  #row(run) {
    const row = this.#rows.get(run.id) ?? newRow();
    this.#rows.set(run.id, row);
    row.run = run;
    const link = row.querySelector("a");
    link.setAttribute("href", `?${new URLSearchParams({ run: run.id })}`);
    setText(link, run.id);
    const [, state, began, , tasks, command] = row.children;
    setState(state.firstChild, run.phase, stateOf(run));
    setText(began, moment(run.began));
    began.setAttribute("title", exactly(run.began));
    setText(tasks, run.tasks);
    setText(command, run.command);
    command.setAttribute("title", run.command);
    return row;
  }

  #tick() {
    for (const row of this.#body.children) {
      setText(row.children[3], duration((row.run.ended ?? now()) - row.run.began));
    }
  }
}

function newRow() {
  return el("tr", {},
    el("th", { scope: "row" }, el("a")),
    el("td", { "data-name": "State" }, el("span")),
    el("td", { "data-name": "Began", class: "began" }),
    el("td", { "data-name": "Time", class: "number" }),
    el("td", { "data-name": "Tasks" }),
    el("td", { "data-name": "Command", class: "command" }));
}
