// One run: its state, its tasks, their output, and how it was started.

import { byId, el, setState, setText, setWords } from "./dom.js";
import { duration, exactly, moment, now, setClock, stateOf } from "./format.js";
import { copyButton } from "./copy.js";
import { Live } from "./live.js";
import { Output } from "./output.js";
import { asked, order } from "./question.js";
import { Tasks } from "./tasks.js";
import { Timeline } from "./timeline.js";
import { Usage } from "./usage.js";

const OPENABLE = /^http:\/\/([\w.-]+|\[[0-9a-f:]+\]):\d+$/i;

export class RunPage {
  constructor(main, id, task) {
    this.id = id;
    document.title = `${id} · tfrun`;
    this.output = new Output(() => this.#ask());
    this.output.wanted = task;
    this.tasks = new Tasks((name) => this.output.choose(name));
    [this.timeline, this.usage] = [new Timeline(), new Usage()];
    this.#head();
    this.why = el("p", { class: "why", role: "status", hidden: true });
    this.report = el("section", { class: "report", "aria-labelledby": "report-title", hidden: true });
    this.stacks = el("section", { class: "report", "aria-labelledby": "stacks-title", hidden: true });
    this.facts = el("dl", { class: "facts" });
    main.replaceChildren(el("p", { class: "quiet" }, "Loading the run…"));
    this.show = () => main.replaceChildren(this.top, this.why, this.report, this.stacks, this.tasks.node, this.output.node,
      this.timeline.node, this.usage.node,
      el("section", { "aria-labelledby": "facts-title" },
        el("h2", { id: "facts-title" }, "How it was started"), this.facts));
    this.#connect();
    this.timer = setInterval(() => this.#tick(), 1000);
  }

  #head() {
    [this.state, this.time] = [el("span", { class: "state" }), el("span", { class: "number" })];
    [this.began, this.command] = [el("span", { class: "began" }), el("code", { class: "command" })];
    this.board = el("a", { class: "button", target: "_blank", rel: "noopener noreferrer", hidden: true },
      "TensorBoard ↗");
    this.stop = el("button", { type: "button", class: "danger", hidden: true }, "Stop the run");
    this.stop.onclick = () => this.#stop();
    this.adopt = el("button", { type: "button", hidden: true }, "Adopt the run");
    this.adopt.onclick = () => this.#adopt();
    this.look = el("button", { type: "button", hidden: true }, "Show stacks");
    this.look.onclick = () => this.#look();
    this.top = el("div", { class: "title" },
      el("div", { class: "line-one" },
        el("span", { class: "id" }, el("h1", {}, this.id), copyButton("the id", () => this.id)), this.state, this.time, this.began,
        el("span", { class: "push" }), this.board, this.look, this.adopt, this.stop),
      el("div", { class: "line-two" }, this.command,
        copyButton("the command line", () => this.run.command_line)));
  }

  #connect() {
    this.live = new Live(this.#query(), {
      run: (news) => this.#update(news),
      usage: (news) => this.usage.add(news),
      output: (news) => this.output.add(news),
      gone: (why) => showGone(why),
    }, () => this.output.begin());
  }

  #query() {
    return { run: this.id, ...this.output.query() };
  }

  #ask() {
    const { find, ...address } = this.#query();
    history.replaceState(null, "", `?${new URLSearchParams(address)}`);
    this.live.ask(this.#query());
  }

  end() {
    this.live.end();
    this.output.end();
    this.timeline.end();
    clearInterval(this.timer);
  }

  #update(run) {
    setClock(run.now);
    if (!this.run) this.show();
    this.run = run;
    setState(this.state, run.phase, stateOf(run));
    setWords(this.command, run.command);
    setText(this.began, `began ${moment(run.began)}`);
    this.began.setAttribute("title", exactly(run.began));
    this.stop.hidden = run.is_over || run.phase === "stopping";
    this.adopt.hidden = !run.adoptable_until;
    this.look.hidden = this.stop.hidden || Boolean(run.adoptable_until);
    this.why.hidden = !run.why;
    setText(this.why, run.is_waiting ? `Waiting: ${run.why}` : run.why);
    this.#showReport(run);
    this.#showBoard(run);
    const names = run.all.map((task) => task.name);
    this.output.setTasks(names, run.id);
    this.usage.setTasks(names);
    this.tasks.update(run);
    this.timeline.update(run);
    this.facts.replaceChildren(...run.facts.flatMap(shownFact));
    this.#tick();
  }

  #showReport(run) {
    const text = JSON.stringify(run.report);
    this.report.hidden = !run.report;
    if (this.report.hidden || this.report.dataset.text === text) return;
    this.report.dataset.text = text;
    this.report.replaceChildren(
      el("h2", { id: "report-title" }, run.phase === "failed" ? "Why it failed" : "Report"),
      ...shownReport(run.report));
  }

  // An address that a task has told; nothing else may become a link.
  #showBoard(run) {
    const address = run.boards.find((one) => OPENABLE.test(one));
    this.board.hidden = !address;
    if (address) this.board.setAttribute("href", address);
  }

  #tick() {
    if (!this.run) return;
    setText(this.time, duration((this.run.ended ?? now()) - this.run.began));
    if (!this.run.is_over) {
      this.tasks.tick();
      this.timeline.draw();
    }
  }

  async #look() {
    this.look.disabled = true;
    const text = await order({ do: "stacks", run: this.id });
    this.look.disabled = false;
    if (text === null) return;
    this.stacks.hidden = false;
    this.stacks.replaceChildren(
      el("h2", { id: "stacks-title" }, "What the tasks are doing"),
      el("pre", { tabindex: 0 }, text));
  }

  // The state shows that it was done.
  async #adopt() {
    this.adopt.disabled = true;
    await order({ do: "adopt", run: this.id });
    this.adopt.disabled = false;
  }

  async #stop() {
    const text = "This ends all tasks of the run. A stopped run cannot be continued.";
    if (await asked(`Stop run ${this.id}?`, text, "Stop the run")) {
      await order({ do: "stop", run: this.id });
    }
  }
}

// What explains the failure comes first; the last lines of the task may be long.
function shownReport({ headline, exception, hint, notes, output }) {
  const last = output.length ? el("pre", { tabindex: 0 }, output.join("\n")) : null;
  return [
    el("p", { class: "headline" }, headline),
    exception ? el("p", { class: "exception" }, exception) : null,
    hint ? el("p", { class: "hint" }, el("b", {}, "Hint: "), hint) : null,
    ...notes.map((note) => el("p", { class: "quiet" }, note)),
    last && el("h3", {}, "Its last lines"), last,
  ].filter(Boolean);
}

function shownFact([name, text]) {
  const value = el("dd");
  setWords(value, text);
  return [el("dt", {}, name), value];
}

function showGone(why) {
  byId("main").replaceChildren(el("h1", {}, why),
    el("p", {}, "Its record may have been removed. ", el("a", { href: "./" }, "All runs")));
}
