// When each task waited, started, ran and ended, as a drawing.

import { el, svg } from "./dom.js";
import { duration, now, short } from "./format.js";
import { firstOf } from "./tasks.js";

const ROW = 22;
const BAR = 12;
const AXIS = 22;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
const WORDS = ["waiting", "starting", "running", "held", "succeeded", "failed", "stopped", "ended", "lost"];

export class Timeline {
  constructor() {
    this.drawing = el("div");
    this.history = el("ul", { class: "generations" });
    this.place = el("div", { class: "timeline" }, this.drawing, this.history);
    this.legend = el("p", { class: "legend", "aria-hidden": "true" });
    this.node = el("section", { "aria-labelledby": "timeline-title" },
      el("div", { class: "bar" }, el("h2", { id: "timeline-title" }, "Time line"), this.legend),
      this.place);
    this.observer = new ResizeObserver(() => this.run && this.draw());
    this.observer.observe(this.place);
  }

  end() {
    this.observer.disconnect();
  }

  update(run) {
    this.run = run;
    const seen = new Set(run.all.flatMap((task) => spans(task, 0).map((span) => span.state)));
    const words = WORDS.filter((word) => seen.has(word));
    if (this.words !== words.join()) {
      this.words = words.join();
      this.legend.replaceChildren(...words.map((word) => el("span", { class: `state ${word}` }, word)));
    }
    const history = run.generations.map(label);
    if (this.known !== history.join("\n")) { // it keeps its scroll position otherwise
      this.known = history.join("\n");
      this.history.replaceChildren(...history.map((text) => el("li", {}, text)));
    }
    this.draw();
  }

  draw() {
    const tasks = firstOf(this.run.all);
    const style = getComputedStyle(this.place);
    const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    const width = Math.max(this.place.clientWidth - padding, 240);
    const names = Math.min(110, 16 + 7.5 * Math.max(...tasks.map((task) => task.name.length), 4));
    const total = Math.max((this.run.ended ?? now()) - this.run.began, 1);
    const x = (at) => names + (Math.min(at, total) / total) * (width - names - 6);
    const height = tasks.length * ROW + AXIS;
    const more = this.run.all.length - tasks.length;
    const about = `Time line of ${tasks.length} tasks over ${duration(total)}`;
    this.drawing.replaceChildren(
      svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": about },
        ...axis(total, x, height, (width - names) / 90),
        ...this.run.generations.map((one) => generation(one, x, height)),
        ...tasks.map((task, index) => row(task, index * ROW, x, total))),
      more > 0 ? el("p", { class: "quiet" }, `and ${more} more`) : "");
  }
}

function axis(total, x, height, most) {
  const step = STEPS.find((one) => total / one <= most) ?? Math.ceil(total / most / 86400) * 86400;
  const marks = [];
  for (let at = 0; at <= total; at += step) marks.push(at);
  return marks.map((at) => svg("g", { class: "mark" },
    svg("line", { x1: x(at), x2: x(at), y1: 0, y2: height - AXIS + 4 }),
    svg("text", { x: x(at), y: height - 6, "text-anchor": at ? "middle" : "start" }, short(at, total))));
}

function label({ name, at, words }) {
  return `${name} at ${duration(at)}: ${words}`;
}

function generation(one, x, height) {
  return svg("g", { class: "generation" }, svg("title", {}, label(one)),
    svg("line", { x1: x(one.at), x2: x(one.at), y1: 0, y2: height - AXIS + 4 }));
}

function row(task, top, x, total) {
  const middle = top + ROW / 2;
  const found = spans(task, total);
  const parts = [...found.filter((span) => !span.isEnd), ...found.filter((span) => span.isEnd)];
  return svg("g", {}, svg("text", { class: "name", x: 0, y: middle + 4 }, task.name),
    ...parts.map((span) => bar(task, span, middle, x))); // the ends are on top
}

function bar(task, { from, to, state, isEnd }, middle, x) {
  const title = svg("title", {}, isEnd
    ? `${task.name} ${state} at ${duration(from)}`
    : `${task.name} ${state} from ${duration(from)} to ${duration(to)}`);
  if (isEnd) {
    return svg("circle", { class: `fill ${state}`, cx: x(from), cy: middle, r: BAR / 2 - 1 }, title);
  }
  const width = Math.max(x(to) - x(from), 1.5);
  const bounds = { x: x(from), y: middle - BAR / 2, width, height: BAR, rx: 2 };
  return svg("rect", { class: `fill ${state}`, ...bounds }, title);
}

// From the states and when they began; what has ended is a point.
function spans(task, total) {
  const states = [[0, "waiting"], ...task.states];
  const found = [];
  states.forEach(([from, state], index) => {
    const next = states[index + 1];
    const isEnd = !["waiting", "starting", "running", "held"].includes(state);
    if (isEnd || !next || next[0] > from) {
      found.push({ from, to: next ? next[0] : total, state, isEnd });
    }
    if (isEnd && next) found.push({ from, to: next[0], state: "waiting", isEnd: false });
  });
  const last = states[states.length - 1];
  if (task.state === "lost") found.push({ from: total || last[0], to: total, state: "lost", isEnd: true });
  return found;
}
