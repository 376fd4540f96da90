// The last lines of the tasks' output. Older ones leave the page, so that it stays quick.

import { el, setText } from "./dom.js";
import { clock } from "./format.js";

const MOST_LINES = 2000;
const AT_END = 40; // pixels from the end that count as the end

export class Output {
  #waiting = [];
  #leftOut = 0;
  #find = "";
  #frame = 0;
  #isFresh = true;
  #follows = true; // the end is shown, and what is new shall be
  #colours = new Map();

  constructor(onChange) {
    this.onChange = onChange;
    this.task = el("select", { id: "task" });
    this.search = el("input", { id: "find", type: "search", autocomplete: "off", maxlength: 200,
      spellcheck: "false", placeholder: "Search the whole log" });
    this.whole = el("a", { class: "button", hidden: true }, "Whole log");
    this.before = el("p", { class: "quiet before", hidden: true });
    this.none = el("p", { class: "quiet none" }, "Loading…");
    this.lines = el("div", { class: "lines", role: "log", "aria-live": "off", tabindex: 0,
      "aria-label": "Output of the tasks" });
    this.down = el("button", { type: "button", class: "down", hidden: true }, "↓ To the end");
    this.#listen();
    this.node = this.#section();
  }

  #section() {
    return el("section", { "aria-labelledby": "output-title" },
      el("div", { class: "bar" },
        el("h2", { id: "output-title" }, "Output"),
        el("label", { for: "task" }, "of"), this.task,
        el("label", { for: "find", class: "unseen" }, "Search the output"), this.search,
        this.whole),
      this.before,
      el("div", { class: "log" }, this.lines, this.none, this.down));
  }

  #listen() {
    this.task.onchange = () => this.onChange();
    this.search.oninput = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.onChange(), 300);
    };
    this.lines.onscroll = () => {
      this.#follows = this.#isAtEnd();
      this.down.hidden = this.#follows;
    };
    this.down.onclick = () => this.#toEnd();
    this.observer = new ResizeObserver(() => this.#follows && this.#toEnd());
    this.observer.observe(this.lines);
  }

  end() {
    this.observer.disconnect();
  }

  // Those that can be chosen; null is all.
  setTasks(names, run) {
    if (this.names === names.join()) return;
    this.names = names.join();
    for (const name of names) this.#colour(name);
    const chosen = this.task.value || this.wanted || "";
    const options = names.map((name) => el("option", { value: name }, name));
    this.task.replaceChildren(el("option", { value: "" }, "all tasks"), ...options,
      el("option", { value: "tfrun" }, "tfrun (the launcher)"));
    this.task.value = ["", "tfrun", ...names].includes(chosen) ? chosen : "";
    this.#link(run);
  }

  #link(run) {
    this.run = run;
    this.whole.hidden = !this.task.value;
    const query = new URLSearchParams({ run, task: this.task.value });
    this.whole.setAttribute("href", `log?${query}`);
  }

  choose(task) {
    this.task.value = task;
    this.onChange();
    this.node.scrollIntoView({ block: "start" });
    this.lines.focus({ preventScroll: true });
  }

  query() {
    const [task, find] = [this.task.value || this.wanted || "", this.search.value.trim()];
    return { ...(task ? { task } : {}), ...(find ? { find } : {}) };
  }

  // A new connection begins, and sends what there is from the start.
  begin() {
    this.#isFresh = true;
    this.#find = this.search.value.trim();
    if (this.run) this.#link(this.run);
  }

  add(news) {
    if (this.#isFresh) {
      this.lines.replaceChildren();
      [this.#waiting, this.#leftOut, this.#isFresh, this.#follows] = [[], 0, false, true];
    }
    this.#leftOut += news.left_out;
    this.#waiting.push(...news.lines);
    this.#dropWaiting();
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #dropWaiting() {
    const tooMany = this.#waiting.length - MOST_LINES;
    if (tooMany > 0) {
      this.#waiting.splice(0, tooMany);
      this.#leftOut += tooMany;
    }
  }

  #draw() {
    this.#frame = 0;
    const isAlone = Boolean(this.task.value);
    const fragment = document.createDocumentFragment();
    for (const line of this.#waiting) fragment.append(this.#line(line, isAlone));
    this.#waiting = [];
    this.lines.append(fragment);
    while (this.lines.childElementCount > MOST_LINES) {
      this.lines.firstElementChild.remove();
      this.#leftOut += 1;
    }
    this.#sayWhatIsThere();
    if (this.#follows) this.#toEnd();
  }

  #sayWhatIsThere() {
    const number = this.lines.childElementCount;
    this.none.hidden = Boolean(number);
    setText(this.none, this.#find ? "No line matches." : "There is no output yet.");
    this.before.hidden = !this.#leftOut;
    const what = this.#find ? "matching lines" : "lines";
    setText(this.before, `The last ${number} ${what}; ${this.#leftOut} before them are in the log.`);
  }

  #line([at, task, stream, text], isAlone) {
    const name = isAlone ? null : el("b", { class: `who c${this.#colour(task)}` }, task);
    const kind = { stdout: "line", stderr: "line err", tfrun: "line note" }[stream] ?? "line";
    return el("div", { class: kind, title: stream === "stderr" ? "standard error" : null },
      el("time", {}, at ? clock(at) : ""), name, el("span", {}, ...marked(text, this.#find)));
  }

  #colour(task) {
    if (!this.#colours.has(task)) this.#colours.set(task, this.#colours.size % 5);
    return this.#colours.get(task);
  }

  #isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.lines;
    return scrollHeight - scrollTop - clientHeight < AT_END;
  }

  #toEnd() {
    this.lines.scrollTop = this.lines.scrollHeight;
  }
}

function marked(text, find) {
  if (!find) return [text];
  const [where, what] = [text.toLowerCase(), find.toLowerCase()];
  const parts = [];
  let from = 0;
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, from)) {
    parts.push(text.slice(from, at), el("mark", {}, text.slice(at, at + what.length)));
    from = at + what.length;
  }
  return [...parts, text.slice(from)];
}
