// Labels: one row for each answer, the last one of a reviewer, trajectory, step and question counts.

/**
 * @typedef {{schema: string, reviewer: string, sample: string, item: string, step: number | null,
 *   span: [number, number] | null, question: string, value: string | number | boolean | string[] | null,
 *   note: string | null, at: string}} Label
 * @typedef {{id: string, text: string, per: "item" | "step", kind: "choice" | "multi" | "scale" | "text",
 *   required: boolean, choice: {value: string, label: string, key: string}[], low: number, high: number}} Question
 */

/** @param {unknown} row @param {string} schema @returns {boolean} whether it is a label that can be kept */
function isLabel(row, schema) {
  if (typeof row !== "object" || row === null || row.schema !== schema) return false;
  const texts = [row.reviewer, row.sample, row.item, row.question, row.at];
  const spanned = row.span === null || (Array.isArray(row.span) && row.span.length === 2 && row.span.every(Number.isInteger));
  const step = row.step === null || Number.isInteger(row.step);
  const value = row.value === null || ["string", "number", "boolean"].includes(typeof row.value)
    || (Array.isArray(row.value) && row.value.every((one) => typeof one === "string"));
  return texts.every((text) => typeof text === "string" && text !== "") && spanned && step && value
    && (row.note === null || typeof row.note === "string") && !Number.isNaN(Date.parse(row.at));
}

class LabelBook {
  constructor() {
    /** @type {Map<string, Label>} */
    this.rows = new Map();
  }

  /** @param {string} reviewer @param {string} item @param {number | null} step @param {string} question */
  static key(reviewer, item, step, question) {
    return JSON.stringify([reviewer, item, step, question]);
  }

  /** @param {Label} row @returns {boolean} whether it counts: it is no older than what is there */
  put(row) {
    const key = LabelBook.key(row.reviewer, row.item, row.step, row.question);
    const there = this.rows.get(key);
    if (there && Date.parse(there.at) > Date.parse(row.at)) return false;
    if (there && JSON.stringify(there) === JSON.stringify(row)) return false;
    this.rows.set(key, row);
    return true;
  }

  /** @returns {Label | undefined} */
  get(reviewer, item, step, question) {
    return this.rows.get(LabelBook.key(reviewer, item, step, question));
  }

  /** Answers and notes of a reviewer on a trajectory, withdrawn ones left out. @returns {Label[]} */
  of(reviewer, item) {
    const there = (row) => row.value !== null || row.note !== null;
    return [...this.rows.values()].filter((row) => row.reviewer === reviewer && row.item === item && there(row));
  }

  /** @returns {string} JSON lines, in the order the answers were given */
  toJsonl() {
    const rows = [...this.rows.values()].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
    return rows.map((row) => JSON.stringify(row) + "\n").join("");
  }
}

/**
 * @param {string} text JSON lines @param {string} schema @param {string} sample
 * @returns {{rows: Label[], broken: number, foreign: number}} labels of the sample; lines that are none; labels of others
 */
function parseLabels(text, schema, sample) {
  const rows = [];
  let broken = 0;
  let foreign = 0;
  for (const line of text.replace(/^\ufeff/, "").split("\n")) {
    if (!line.trim()) continue;
    let row = null;
    try {
      row = JSON.parse(line);
    } catch {
      broken += 1;
      continue;
    }
    if (!isLabel(row, schema)) broken += 1;
    else if (row.sample !== sample) foreign += 1;
    else rows.push(row);
  }
  return { rows, broken, foreign };
}

/** Labels in the storage of the browser, under the sample. It may be switched off, full, or gone with the window. */
class BrowserStorage {
  /** @param {string} sample @param {string} schema */
  constructor(sample, schema) {
    this.name = `trajlab-review/${sample}`;
    this.schema = schema;
    this.sample = sample;
    this.works = this.#try(() => {
      localStorage.setItem("trajlab-review", "works");
      localStorage.removeItem("trajlab-review");
    });
  }

  #try(action) {
    try {
      action();
      return true;
    } catch {
      return false; // a SecurityError or QuotaExceededError: the caller says so in the page
    }
  }

  /** @returns {Label[]} */
  load() {
    let text = "";
    this.#try(() => {
      text = localStorage.getItem(this.name) ?? "";
    });
    return parseLabels(text, this.schema, this.sample).rows;
  }

  /** @param {LabelBook} book @returns {boolean} whether it was kept; answers of other windows stay */
  save(book) {
    for (const row of this.load()) book.put(row);
    this.works = this.#try(() => localStorage.setItem(this.name, book.toJsonl()));
    return this.works;
  }

  /** @returns {string} the reviewer of last time */
  get reviewer() {
    let name = "";
    this.#try(() => {
      name = localStorage.getItem("trajlab-reviewer") ?? "";
    });
    return name;
  }

  set reviewer(name) {
    this.#try(() => localStorage.setItem("trajlab-reviewer", name));
  }
}
