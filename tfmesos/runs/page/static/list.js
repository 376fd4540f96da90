// All runs, the newest first.

import { el, setState, setText } from "./dom.js";
import { duration, exactly, moment, now, setClock, stateOf } from "./format.js";
import { Live } from "./live.js";

const COLUMNS = ["Run", "State", "Began", "Time", "Tasks", "Command"];
const AT_FIRST = 200; // rows

export class RunList {
  #rows = new Map();
  #body = el("tbody");
  #runs = [];

  constructor(main) {
    document.title = "Runs · tfrun";
    const head = el("tr", {}, ...COLUMNS.map((name) => el("th", { scope: "col" }, name)));
    this.#show(main, head);
    this.live = new Live({}, { runs: (news) => this.#update(news) });
    this.timer = setInterval(() => this.#tick(), 1000);
  }

  #show(main, head) {
    this.empty = el("p", { class: "quiet" }, "Loading the runs…");
    this.more = el("button", { type: "button", hidden: true }, "Show all");
    this.more.onclick = () => this.#showAll();
    this.table = el("table", { class: "runs", hidden: true },
      el("caption", { class: "unseen" }, "Your runs, the newest first"),
      el("thead", {}, head), this.#body);
    main.replaceChildren(el("h1", {}, "Runs"), this.empty, this.table, this.more);
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
    this.table.hidden = !news.runs.length;
    this.empty.hidden = Boolean(news.runs.length);
    setText(this.empty, "There is no run yet. Start one with: tfrun -w 2 -- COMMAND");
    this.#place();
  }

  #place() {
    const shown = this.isWhole ? this.#runs : this.#runs.slice(0, AT_FIRST);
    this.more.hidden = shown.length === this.#runs.length;
    setText(this.more, `Show all ${this.#runs.length} runs`);
    const rows = shown.map((run) => this.#row(run));
    if (rows.some((row, at) => this.#body.children[at] !== row) ||
        rows.length !== this.#body.children.length) {
      this.#body.replaceChildren(...rows);
    }
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
