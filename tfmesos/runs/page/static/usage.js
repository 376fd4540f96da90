// What the tasks use, as small plots.

import { el, setText, svg } from "./dom.js";
import { bytes, percent } from "./format.js";

const MOST_POINTS = 480;
const MOST_TASKS = 24;
const [WIDTH, HEIGHT] = [200, 36];
const KINDS = [["CPU", 1, percent, 100], ["Memory", 2, bytes, 1], ["GPU", 3, percent, 100]];

export class Usage {
  #points = new Map();
  #cards = new Map();

  constructor() {
    this.grid = el("div", { class: "plots" });
    this.more = el("p", { class: "quiet", hidden: true });
    this.node = el("section", { "aria-labelledby": "usage-title", hidden: true },
      el("h2", { id: "usage-title" }, "Resources"), this.grid, this.more);
  }

  add(news) {
    for (const [task, points] of Object.entries(news)) this.#take(task, points);
    const tasks = [...this.#points.keys()].sort(byNumber);
    this.node.hidden = !tasks.length;
    const shown = tasks.slice(0, MOST_TASKS);
    const cards = shown.map((task) => this.#card(task));
    if (cards.length !== this.grid.childElementCount) this.grid.replaceChildren(...cards);
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
      const plots = KINDS.map(([name]) => plot(name));
      const node = el("div", { class: "plot" }, el("h3", {}, task), ...plots.map((one) => one.node));
      this.#cards.set(task, { node, plots });
    }
    return this.#cards.get(task).node;
  }

  #draw(task) {
    const points = this.#points.get(task);
    KINDS.forEach(([name, column, shown, least], index) => {
      const { node, value, peak, line, area } = this.#cards.get(task).plots[index];
      const values = points.filter((point) => point[column] !== null);
      node.hidden = !values.length;
      if (!values.length) return;
      const highest = Math.max(...values.map((point) => point[column]));
      const most = Math.max(least, highest);
      const path = drawn(values, column, most);
      setText(value, shown(values[values.length - 1][column]));
      setText(peak, `peak ${shown(highest)}`);
      line.setAttribute("points", path);
      area.setAttribute("points", `${path} ${WIDTH},${HEIGHT} 0,${HEIGHT}`);
      node.querySelector("svg").setAttribute("aria-label",
        `${name} of ${task}: now ${value.textContent}, ${peak.textContent}`);
    });
  }
}

function plot(name) {
  const [value, peak] = [el("b"), el("small")];
  const [line, area] = [svg("polyline", { class: "line" }), svg("polygon", { class: "area" })];
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
    role: "img" }, area, line);
  const node = el("div", { class: "measure" }, el("span", {}, name), peak, value, drawing);
  return { value, peak, line, area, node };
}

function drawn(values, column, most) {
  const [first, last] = [values[0][0], values[values.length - 1][0]];
  const x = (at) => (last > first ? ((at - first) / (last - first)) * WIDTH : WIDTH);
  const y = (amount) => HEIGHT - 2 - (amount / most) * (HEIGHT - 4);
  const start = values.length === 1 ? `0,${y(values[0][column]).toFixed(1)} ` : "";
  return start + values.map((v) => `${x(v[0]).toFixed(1)},${y(v[column]).toFixed(1)}`).join(" ");
}

function byNumber(one, other) {
  return one.localeCompare(other, "en", { numeric: true });
}
