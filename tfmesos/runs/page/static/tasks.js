// The tasks of a run, a row each.

import { el, setChildren, setState, setText } from "./dom.js";
import { duration, now } from "./format.js";
import { asked, order } from "./question.js";

const COLUMNS = ["Task", "State", "Node", "Address", "Time", "Progress", "Restarts", "Exit", ""];
const AT_FIRST = 25; // rows
const LIVING = ["starting", "running", "held"];

export class Tasks {
  #rows = new Map();
  #body = el("tbody");

  constructor(onChoose) {
    this.onChoose = onChoose;
    const names = COLUMNS.map((name) => name
      ? el("th", { scope: "col", class: name === "Progress" ? "progress" : null }, name)
      : el("td", {}, el("span", { class: "unseen" }, "What you can do")));
    this.counts = el("p", { class: "legend" });
    this.more = el("button", { type: "button", hidden: true });
    this.more.onclick = () => {
      this.isWhole = true;
      this.update(this.run);
    };
    this.table = el("table", { class: "tasks" },
      el("caption", { class: "unseen" }, "The tasks of the run"),
      el("thead", {}, el("tr", {}, ...names)), this.#body);
    this.node = el("section", { "aria-labelledby": "tasks-title" },
      el("div", { class: "bar" }, el("h2", { id: "tasks-title" }, "Tasks"), this.counts),
      this.table, this.more);
  }

  update(run) {
    this.run = run;
    this.#count(run.all);
    this.table.classList.toggle("with-bars", run.all.some((task) => task.bar));
    const shown = this.isWhole ? run.all : firstOf(run.all);
    this.more.hidden = shown.length === run.all.length;
    setText(this.more, `Show all ${run.all.length} tasks`);
    setChildren(this.#body, shown.map((task) => this.#row(task)));
    this.tick();
  }

  // Of few tasks the table tells as much.
  #count(tasks) {
    const numbers = new Map();
    for (const { state } of tasks) numbers.set(state, (numbers.get(state) ?? 0) + 1);
    const words = [...numbers].map(([state, number]) => `${number} ${state}`);
    if (tasks.length <= AT_FIRST || this.counts.title === words.join(", ")) return;
    this.counts.title = words.join(", ");
    this.counts.replaceChildren(...[...numbers.keys()].map(
      (state, at) => el("span", { class: `state ${state}` }, words[at])));
  }

  tick() {
    for (const row of this.#body.children) setText(row.children[4], this.#took(row.task));
  }

  #took(task) {
    if (task.began === null) return "";
    const end = task.ended ?? (this.run.ended ?? now()) - this.run.began;
    return duration(end - task.began);
  }

  #row(task) {
    const row = this.#rows.get(task.name) ?? this.#newRow(task.name);
    this.#rows.set(task.name, row);
    row.task = task;
    const [, state, node, address, , progress, restarts, exit, buttons] = row.children;
    setState(state.firstChild, task.state);
    setText(node, task.node);
    setText(address, task.address);
    showBar(progress, task.bar);
    setText(restarts, task.restarts || "");
    setText(exit.firstChild, task.code ?? "");
    setText(exit.lastChild, task.code && task.reason !== `exited with ${task.code}` ? task.reason : "");
    const isHeld = !this.run.is_over && !this.run.adoptable_until; // by a launcher
    const isLiving = isHeld && LIVING.includes(task.state);
    for (const button of buttons.querySelectorAll(".change")) button.hidden = !isLiving;
    return row;
  }

  #newRow(name) {
    const button = (text, label, kind, act) => el("button",
      { type: "button", class: kind, "aria-label": `${label} ${name}`, onclick: act }, text);
    return el("tr", {},
      el("th", { scope: "row" }, name),
      el("td", { "data-name": "State" }, el("span")),
      el("td", { "data-name": "Node" }),
      el("td", { "data-name": "Address", class: "address" }),
      el("td", { "data-name": "Time", class: "number" }),
      el("td", { "data-name": "Progress", class: "progress" }),
      el("td", { "data-name": "Restarts", class: "number" }),
      el("td", { "data-name": "Exit", class: "exit" }, el("b"), el("span", { class: "reason" })),
      el("td", { class: "buttons" },
        button("Output", "Show the output of", "plain", () => this.onChoose(name)),
        button("Restart", "Restart", "change", () => this.#restart(name)),
        button("Replace", "Replace", "change", () => this.#replace(name))));
  }

  async #restart(name) {
    const text = "The task is stopped and started again on its node, where the others expect it. " +
      "Its program must cope with that.";
    if (await asked(`Restart ${name}?`, text, "Restart")) {
      await order({ do: "restart", run: this.run.id, task: name });
    }
  }

  async #replace(name) {
    const text = "The task is stopped and started again on another node. Its program must cope with that.";
    if (await asked(`Replace ${name}?`, text, "Replace")) {
      await order({ do: "replace", run: this.run.id, task: name });
    }
  }
}

// A cell without a bar is empty, so that a narrow screen leaves it out.
function showBar(cell, bar) {
  if (!bar) return cell.replaceChildren();
  if (!cell.firstChild) cell.append(el("div", {}, el("progress", { max: 1 }), el("span")));
  const [gauge, words] = cell.firstChild.children;
  gauge.hidden = bar.part === null;
  gauge.value = bar.part ?? 0;
  gauge.setAttribute("aria-label", bar.words);
  words.setAttribute("title", bar.words);
  setText(words, bar.words);
}

// Of very many tasks those that are not as the others are of interest.
export function firstOf(tasks) {
  if (tasks.length <= AT_FIRST) return tasks;
  const odd = tasks.filter((task) => ["failed", "lost"].includes(task.state) || task.restarts);
  return [...new Set([...odd, ...tasks])].slice(0, AT_FIRST);
}
