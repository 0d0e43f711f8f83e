// Foreign text made safe to look at. Everything here ends in text nodes; no log text is ever parsed as markup.

/** Line ends, ANSI colours, and characters that act instead of showing (controls, bidi marks, invisible ones, tags). */
const ACTING = /\x1b\[[0-9;:]{0,40}m|\r\n?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
/** Characters that a gap gives back with one click. */
const STEP_CHARS = 20000;
/** Characters of one line that are looked at to colour it. */
const LINE_CHARS = 300;

/** @param {string} found one match of ACTING @returns {string} what is shown in its place */
function shownFor(found) {
  if (found === "\r\n") return "\n";
  if (found === "\r") return "\u240d\n";
  if (found.length > 1 && found[0] === "\x1b") return "";
  return "\u27e8U+" + found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
}

/** @param {unknown} text @returns {string} the text as it is shown: colours stripped, acting characters visible */
function shown(text) {
  const string = typeof text === "string" ? text : String(text ?? "");
  return string.replace(ACTING, shownFor);
}

/**
 * @param {string} raw text as logged
 * @param {number} place offset in the shown text
 * @returns {number} the offset in the raw text; a place inside a stand-in is that of the character it stands for
 */
function rawOffset(raw, place) {
  let grown = 0;
  for (const match of raw.matchAll(ACTING)) {
    const start = match.index + grown;
    if (place <= start) break;
    const width = shownFor(match[0]).length;
    if (place < start + width) return match.index;
    grown += width - match[0].length;
  }
  return place - grown;
}

/** @param {string} text @returns {number} its length in code points, as Python counts */
function codePoints(text) {
  const pairs = text.match(/[\ud800-\udbff][\udc00-\udfff]/g);
  return text.length - (pairs ? pairs.length : 0);
}

/** @param {string} text @param {number} points @returns {number} units of the first so many characters as Python counts them */
function unitsOf(text, points) {
  let at = 0;
  for (let n = 0; n < points && at < text.length; n += 1) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

/** @param {string} text @param {number} limit @returns {string} one line, cut with an ellipsis */
function oneLine(text, limit) {
  const line = shown(text.slice(0, limit * 4)).replace(/\s+/g, " ").trim();
  return line.length <= limit && text.length <= limit * 4 ? line : line.slice(0, limit - 1) + "\u2026";
}

/** @param {number} number @returns {string} with separators, the same in every locale */
function thousands(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {number} number @param {string} one @param {string} [many] @returns {string} "1 step", "2 steps" */
function counted(number, one, many = one + "s") {
  return `${thousands(number)} ${number === 1 ? one : many}`;
}

/** Colours the lines of tool output: failures and passes of tests, and diffs. @param {string} line */
function outputClass(line) {
  if (/^(FAILED|FAIL|ERROR|E  |not ok )|Traceback \(most recent|\b(FAILED|ERROR)\b|^\w{0,60}(Error|Exception)\b|\b[1-9]\d{0,8} (failed|errors?)\b/.test(line)) return "bad";
  if (/\bPASSED\b|^OK\b|^ok \d|^PASS\b|\b\d{1,9} passed\b/.test(line)) return "good";
  return "";
}

/** @param {string} line @returns {string} class of a line of a patch */
function patchClass(line) {
  if (/^(\+\+\+|---|diff |index |\*\*\* )/.test(line)) return "file";
  if (line.startsWith("@@")) return "hunk";
  return line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
}

/** @typedef {[string, string]} Piece text and class */

/** @param {string} text @param {(line: string) => string} classOf @returns {Piece[]} lines of one class together */
function byLine(text, classOf) {
  const pieces = [];
  let start = 0;
  let before = null;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    const kind = classOf(text.slice(at, Math.min(next, at + LINE_CHARS)));
    if (before !== null && kind !== before) {
      pieces.push([text.slice(start, at), before]);
      start = at;
    }
    before = kind;
    at = next;
  }
  if (start < text.length) pieces.push([text.slice(start), before ?? ""]);
  return pieces;
}

/** Parts of a message between fences are code. @param {string} text @returns {Piece[]} */
function byFence(text) {
  let inside = false;
  return byLine(text, (line) => {
    const fence = /^\s{0,3}(```|~~~)/.test(line);
    if (fence) inside = !inside;
    return fence || inside ? "code" : "";
  });
}

/** @param {string} text @returns {Piece[]} output of a tool, coloured by line */
function byOutput(text) {
  const isDiff = text.startsWith("diff --git") || text.includes("\n@@ -");
  return byLine(text, isDiff ? patchClass : outputClass);
}

/** @param {string} text @returns {Piece[]} */
function plain(text) {
  return [[text, ""]];
}

/** The views by their elements, so that a selection finds the text it stands in. @type {WeakMap<Node, TextView>} */
const VIEWS = new WeakMap();

/**
 * A text of which the beginning, the end and what was asked for is shown; a gap is a button that gives more.
 * So a text of any length costs no more than what is looked at.
 */
class TextView {
  /**
   * @param {string} text already passed through `shown`
   * @param {{head: number, tail: number, pieces?: (text: string) => Piece[], part?: object}} options
   */
  constructor(text, { head, tail, pieces = plain, part = null }) {
    this.text = text;
    this.pieces = pieces;
    this.part = part;
    this.el = document.createElement("div");
    this.el.className = "text";
    VIEWS.set(this.el, this);
    const whole = text.length <= head + tail + 200;
    this.open = whole ? [[0, text.length]] : [[0, this.#cut(head, -1)], [this.#cut(text.length - tail, 1), text.length]];
    this.#render();
  }

  /** A place near `at` where a line ends, else where no character is torn apart. @param {number} at @param {number} side */
  #cut(at, side) {
    if (at <= 0 || at >= this.text.length) return Math.max(0, Math.min(at, this.text.length));
    const line = side < 0 ? this.text.lastIndexOf("\n", at) + 1 : this.text.indexOf("\n", at) + 1;
    if (line > 0 && Math.abs(line - at) < 300) return line;
    const code = this.text.charCodeAt(at);
    return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
  }

  /** Show what stands from `start` to `end`. @param {number} start @param {number} end */
  reveal(start, end) {
    if (this.open.some(([from, to]) => from <= start && end <= to)) return;
    this.#add(this.#cut(start - 600, 1), this.#cut(Math.min(end, start + STEP_CHARS) + 600, -1));
  }

  /** Show more: the beginnings of all gaps. */
  more() {
    for (const [, to] of this.open.slice(0, -1)) this.#add(to, this.#cut(to + STEP_CHARS, -1));
  }

  /** @param {number} start @param {number} end */
  #add(start, end) {
    const sorted = [...this.open, [start, Math.max(start, end)]].sort((a, b) => a[0] - b[0]);
    const merged = [sorted[0]];
    for (const [from, to] of sorted.slice(1)) {
      const last = merged[merged.length - 1];
      if (from <= last[1]) last[1] = Math.max(last[1], to);
      else merged.push([from, to]);
    }
    this.open = merged;
    this.#render();
  }

  #render() {
    /** @type {{node: Text, at: number}[]} */
    this.nodes = [];
    const children = [];
    this.open.forEach(([from, to], number) => {
      if (number > 0) children.push(this.#gap(this.open[number - 1][1], from));
      let at = from;
      for (const [text, kind] of this.pieces(this.text.slice(from, to))) {
        const span = document.createElement("span");
        span.className = kind;
        span.textContent = text;
        if (span.firstChild) this.nodes.push({ node: /** @type {Text} */ (span.firstChild), at });
        at += text.length;
        children.push(span);
      }
    });
    this.el.replaceChildren(...children);
  }

  /** @param {number} from @param {number} to */
  #gap(from, to) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "gap";
    const size = Math.min(STEP_CHARS, to - from);
    button.textContent = `${thousands(to - from)} characters not shown \u00b7 show ${size < to - from ? thousands(size) + " more" : "them"}`;
    button.addEventListener("click", () => {
      this.#add(from, size < to - from ? this.#cut(from + size, -1) : to);
      this.el.dispatchEvent(new CustomEvent("more", { bubbles: true }));
    });
    return button;
  }

  /** @param {number} start @param {number} end @returns {Range | null} where the text from start to end is shown */
  range(start, end) {
    const first = this.nodes.findLast(({ at }) => at <= start);
    const last = this.nodes.findLast(({ at }) => at < end);
    if (!first || !last || start - first.at > first.node.length) return null;
    const range = document.createRange();
    range.setStart(first.node, start - first.at);
    range.setEnd(last.node, Math.min(end - last.at, last.node.length));
    return range;
  }

  /** @param {Node} node @param {number} offset @returns {number | null} the offset in the text of a place in the page */
  offset(node, offset) {
    const found = this.nodes.find((one) => one.node === node);
    if (found) return found.at + offset;
    const inside = node.childNodes[offset] ?? node;
    const next = this.nodes.find((one) => inside === one.node || inside.contains(one.node));
    return next ? next.at : null;
  }
}

/** @param {Node | null} node @returns {TextView | null} the view that a node stands in */
function viewOf(node) {
  for (let at = node; at; at = at.parentNode) {
    const view = VIEWS.get(at);
    if (view) return view;
  }
  return null;
}
