// One connection to the server, while the page is looked at.

import { byId, setText } from "./dom.js";

const AGAIN_AFTER = 3000; // milliseconds

export class Live {
  #source = null;
  #timer = 0;
  #isOver = false;

  // handlers: by the name of the event; begin: before the first event of a connection
  constructor(query, handlers, begin = () => {}) {
    this.query = query;
    this.handlers = handlers;
    this.begin = begin;
    this.look = () => (document.hidden ? this.#close() : this.#open());
    document.addEventListener("visibilitychange", this.look);
    this.#open();
  }

  ask(query) {
    this.query = query;
    this.#isOver = false;
    this.#close();
    this.#open();
  }

  end() {
    document.removeEventListener("visibilitychange", this.look);
    this.#close();
    show("");
  }

  #open() {
    if (this.#source || this.#isOver) return;
    const source = new EventSource(`events?${new URLSearchParams(this.query)}`);
    this.#source = source;
    source.onopen = () => {
      this.begin();
      show("live");
    };
    source.onerror = () => this.#failed(source);
    source.addEventListener("end", () => {
      this.#isOver = true;
      this.#close();
      show("");
    });
    for (const [name, handler] of Object.entries(this.handlers)) {
      source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
    }
  }

  #failed(source) {
    show("lost");
    if (source.readyState === EventSource.CLOSED && source === this.#source) {
      this.#close(); // refused: another server, or too many pages
      this.#timer = setTimeout(() => this.#open(), AGAIN_AFTER);
    }
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }
}

function show(state) {
  const words = { live: "live", lost: "not live: is tfrun ui still running? Trying again" };
  byId("live").className = state;
  setText(byId("live"), words[state] ?? "");
}
