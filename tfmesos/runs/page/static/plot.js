// One measure of a task over time: a line with its axes, and the value under the pointer.

import { el, setText, svg } from "./dom.js";
import { clock } from "./format.js";

const [WIDTH, HEIGHT] = [200, 44];

export class Plot {
  #values = []; // pairs of time and amount
  #pointed = null; // the part of the width at which the pointer is

  constructor(task, name, column, shown, least) {
    [this.task, this.name, this.column, this.shown, this.least] = [task, name, column, shown, least];
    [this.value, this.beside] = [el("b"), el("small")];
    [this.line, this.area] = [svg("polyline", { class: "line" }), svg("polygon", { class: "area" })];
    [this.top, this.from, this.to] = [el("span"), el("span"), el("span")];
    this.cursor = el("i", { class: "pointed", hidden: true });
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
      role: "img" }, this.area, this.line);
    this.canvas = el("div", { class: "canvas" }, this.drawing, this.cursor);
    this.node = el("div", { class: "measure" }, el("span", {}, name), this.beside, this.value,
      el("div", { class: "drawing" },
        el("div", { class: "scale", "aria-hidden": "true" }, this.top, el("span", {}, "0")),
        this.canvas,
        el("div", { class: "times", "aria-hidden": "true" }, this.from, this.to)));
    this.#listen();
  }

  #listen() {
    const point = (event) => {
      const { left, width } = this.drawing.getBoundingClientRect();
      this.#pointed = width ? Math.min(Math.max((event.clientX - left) / width, 0), 1) : null;
      this.#tell();
    };
    const leave = () => {
      this.#pointed = null;
      this.#tell();
    };
    this.canvas.addEventListener("pointerdown", point);
    this.canvas.addEventListener("pointermove", point);
    this.canvas.addEventListener("pointerleave", leave);
    this.canvas.addEventListener("pointercancel", leave);
  }

  draw(points) {
    this.#values = points.filter((point) => point[this.column] !== null)
      .map((point) => [point[0], point[this.column]]);
    this.node.hidden = !this.#values.length;
    if (this.node.hidden) return;
    this.highest = Math.max(...this.#values.map(([, amount]) => amount));
    const most = Math.max(this.least, this.highest);
    const path = this.#path(most);
    this.line.setAttribute("points", path);
    this.area.setAttribute("points", `${path} ${WIDTH},${HEIGHT} 0,${HEIGHT}`);
    setText(this.top, this.shown(most));
    setText(this.from, clock(this.#first()));
    setText(this.to, clock(this.#last()));
    this.drawing.setAttribute("aria-label", `${this.name} of ${this.task}: now ` +
      `${this.shown(this.#values.at(-1)[1])}, peak ${this.shown(this.highest)}`);
    this.#tell();
  }

  #first() {
    return this.#values[0][0];
  }

  #last() {
    return this.#values.at(-1)[0];
  }

  #part(at) {
    const [first, last] = [this.#first(), this.#last()];
    return last > first ? (at - first) / (last - first) : 1;
  }

  #path(most) {
    const y = (amount) => (HEIGHT - (amount / most) * (HEIGHT - 2)).toFixed(1);
    const start = this.#values.length === 1 ? `0,${y(this.#values[0][1])} ` : "";
    return start + this.#values.map(([at, amount]) =>
      `${(this.#part(at) * WIDTH).toFixed(1)},${y(amount)}`).join(" ");
  }

  // The value that is nearest to the pointer, or the last one and the highest.
  #tell() {
    if (!this.#values.length) return;
    this.cursor.hidden = this.#pointed === null;
    if (this.#pointed === null) {
      setText(this.value, this.shown(this.#values.at(-1)[1]));
      setText(this.beside, `peak ${this.shown(this.highest)}`);
      return;
    }
    const away = ([at]) => Math.abs(this.#part(at) - this.#pointed);
    const [at, amount] = this.#values.reduce((best, one) => (away(one) < away(best) ? one : best));
    setText(this.value, this.shown(amount));
    setText(this.beside, `at ${clock(at)}`);
    this.cursor.style.left = `${this.#part(at) * 100}%`;
  }
}
