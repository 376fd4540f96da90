// What the tasks use, as small plots.

import { el, setChildren, setText } from "./dom.js";
import { bytes, percent } from "./format.js";
import { Plot } from "./plot.js";

const MOST_POINTS = 480;
const MOST_TASKS = 24;
// What is plotted, its place in a point, how it is written, and the least that the axis reaches to.
const KINDS = [["CPU", 1, percent, 100], ["Memory", 2, bytes, 1], ["GPU", 3, percent, 100]];

export class Usage {
  #points = new Map();
  #cards = new Map();
  #order = new Map(); // task -> its number in the table of tasks

  constructor() {
    this.grid = el("div", { class: "plots" });
    this.more = el("p", { class: "quiet", hidden: true });
    this.node = el("section", { "aria-labelledby": "usage-title", hidden: true },
      el("h2", { id: "usage-title" }, "Resources"), this.grid, this.more);
  }

  setTasks(names) {
    this.#order = new Map(names.map((name, number) => [name, number]));
  }

  add(news) {
    for (const [task, points] of Object.entries(news)) this.#take(task, points);
    const number = (task) => this.#order.get(task) ?? Infinity;
    const tasks = [...this.#points.keys()].sort((one, other) => number(one) - number(other));
    this.node.hidden = !tasks.length;
    const shown = tasks.slice(0, MOST_TASKS);
    setChildren(this.grid, shown.map((task) => this.#card(task)));
    this.more.hidden = shown.length === tasks.length;
    setText(this.more, `and ${tasks.length - shown.length} more tasks`);
    for (const task of Object.keys(news)) if (shown.includes(task)) this.#draw(task);
  }

  // A file that was thinned out comes again from its beginning.
  #take(task, points) {
    let known = this.#points.get(task) ?? [];
    const last = known.length ? known[known.length - 1][0] : -Infinity;
    known = [...known, ...points.filter((point) => point[0] > last)];
    if (known.length > MOST_POINTS) known = known.filter((_, at) => (known.length - at) % 2);
    this.#points.set(task, known);
  }

  #card(task) {
    if (!this.#cards.has(task)) {
      const plots = KINDS.map((kind) => new Plot(task, ...kind));
      const node = el("div", { class: "plot" }, el("h3", {}, task), ...plots.map((one) => one.node));
      this.#cards.set(task, { node, plots });
    }
    return this.#cards.get(task).node;
  }

  #draw(task) {
    for (const plot of this.#cards.get(task).plots) plot.draw(this.#points.get(task));
  }
}
