// Elements of the page. Every text goes in as text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// A node that does not change keeps its focus and its selection.
export function setText(node, text) {
  const wanted = String(text ?? "");
  if (node.textContent !== wanted) node.textContent = wanted;
}

// Nodes that stay at their places keep their focus, too.
export function setChildren(node, wanted) {
  const isSame = wanted.length === node.children.length &&
    wanted.every((child, at) => node.children[at] === child);
  if (!isSame) node.replaceChildren(...wanted);
}

export function setState(node, state, shown = state) {
  const kind = `state ${state.split(" ")[0]}`;
  if (node.className !== kind) node.className = kind;
  setText(node, shown);
}

// Lines break between words only, and not after every dash.
export function setWords(node, text) {
  if (node.textContent === text) return;
  const words = text.split(" ").flatMap((word) => [" ", el("span", { class: "word" }, word)]);
  node.replaceChildren(...words.slice(1));
}

export function byId(id) {
  return document.getElementById(id);
}
