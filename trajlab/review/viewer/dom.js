// Elements, from names that the code gives and texts that become text nodes.

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] `class`, `on…` for listeners, else attributes; null and false are left out
 * @param {...(Node | string | null | undefined)} children strings become text nodes
 * @returns {HTMLElement}
 */
function h(tag, attributes = {}, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") el.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "class") el.className = String(value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.filter((child) => child !== null && child !== undefined));
  return el;
}

/** @param {string} text @param {() => void} press @param {Record<string, unknown>} [attributes] @returns {HTMLButtonElement} */
function button(text, press, attributes = {}) {
  return /** @type {HTMLButtonElement} */ (h("button", { type: "button", onclick: press, ...attributes }, text));
}

/** A key as a reader presses it. @param {string} key */
function kbd(key) {
  return h("kbd", {}, key);
}

let uniqueIds = 0;
/** @param {string} stem @returns {string} an id that no other element of the page has */
function uniqueId(stem) {
  uniqueIds += 1;
  return `trajlab-${stem}-${uniqueIds}`;
}

/** Give the browser a turn, so that no task is long. @returns {Promise<void>} */
function pause() {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Work that pauses when it has run for `limit` milliseconds. */
class Slices {
  constructor(limit = 25) {
    this.limit = limit;
    this.since = performance.now();
  }

  /** @returns {boolean} whether it is time to pause */
  get due() {
    return performance.now() - this.since > this.limit;
  }

  async rest() {
    await pause();
    this.since = performance.now();
  }
}
