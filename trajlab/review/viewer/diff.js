// Differences of two texts by line, and their pictures.

/** Work the search for a shortest difference may take; beyond it the differing middle is shown as replaced. */
const MOST_DIFFERENCES = 600;
/** Unchanged lines around a change. */
const CONTEXT_LINES = 3;
/** Lines of a difference that are shown at once. */
const DIFF_LINES = 60;

/** @typedef {{sign: " " | "+" | "-", text: string}} DiffLine */

/**
 * @param {string[]} before @param {string[]} after @returns {DiffLine[]} a shortest edit script
 * (Myers 1986, doi:10.1007/BF01840446), within `MOST_DIFFERENCES`.
 */
function lineDiff(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const same = (text) => ({ sign: /** @type {" "} */ (" "), text });
  return [
    ...before.slice(0, start).map(same),
    ...middleDiff(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** @param {string[]} before @param {string[]} after @returns {DiffLine[]} */
function middleDiff(before, after) {
  const replaced = () => [
    ...before.map((text) => ({ sign: /** @type {"-"} */ ("-"), text })),
    ...after.map((text) => ({ sign: /** @type {"+"} */ ("+"), text })),
  ];
  if (!before.length || !after.length) return replaced();
  const trace = furthestReaching(before, after);
  return trace ? walkBack(before, after, trace) : replaced();
}

/** @param {string[]} a @param {string[]} b @returns {Map<number, number>[] | null} furthest places by diagonal and depth */
function furthestReaching(a, b) {
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let depth = 0; depth <= Math.min(a.length + b.length, MOST_DIFFERENCES); depth += 1) {
    trace.push(reach);
    const next = new Map(reach);
    for (let k = -depth; k <= depth; k += 2) {
      const down = k === -depth || (k !== depth && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? reach.get(k + 1) ?? 0 : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && x - k >= 0 && a[x] === b[x - k]) x += 1;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return trace;
    }
    reach = next;
  }
  return null;
}

/** @param {string[]} a @param {string[]} b @param {Map<number, number>[]} trace @returns {DiffLine[]} */
function walkBack(a, b, trace) {
  const lines = [];
  let x = a.length;
  let y = b.length;
  for (let depth = trace.length - 1; depth >= 0; depth -= 1) {
    const reach = trace[depth];
    const k = x - y;
    const down = k === -depth || (k !== depth && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = reach.get(fromK) ?? 0;
    const fromY = fromX - fromK;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      x -= 1;
      y -= 1;
      lines.push({ sign: " ", text: a[x] });
    }
    if (depth > 0) lines.push(down ? { sign: "+", text: b[--y] } : { sign: "-", text: a[--x] });
  }
  return /** @type {DiffLine[]} */ (lines.reverse());
}

/** Lines, with unchanged stretches far from any change as their number. @param {DiffLine[]} lines */
function folded(lines) {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.sign === " ") return;
    near.fill(1, Math.max(0, at - CONTEXT_LINES), Math.min(lines.length, at + CONTEXT_LINES + 1));
  });
  /** @type {(DiffLine | number)[]} */
  const kept = [];
  lines.forEach((line, at) => {
    const last = kept[kept.length - 1];
    if (near[at]) kept.push(line);
    else if (typeof last === "number") kept[kept.length - 1] = last + 1;
    else kept.push(1);
  });
  return kept;
}

/** @param {DiffLine | number} line */
function diffRow(line) {
  if (typeof line === "number") return h("div", { class: "unchanged" }, counted(line, "unchanged line"));
  const kind = { "+": "added", "-": "removed", " ": "" }[line.sign];
  return h("div", { class: `line ${kind}` }, h("span", { class: "sign" }, line.sign), shown(line.text.slice(0, 2000)) || " ");
}

/** @param {(DiffLine | number)[]} lines @returns {HTMLElement} */
function diffTable(lines) {
  const el = h("div", { class: "diff", role: "group", "aria-label": "Difference" });
  const show = (from) => {
    el.append(...lines.slice(from, from + DIFF_LINES).map(diffRow));
    const left = lines.length - from - DIFF_LINES;
    if (left <= 0) return;
    const more = button(`${counted(left, "line")} more`, () => {
      more.remove();
      show(from + DIFF_LINES);
    }, { class: "gap" });
    el.append(more);
  };
  show(0);
  return el;
}

/** @param {string | undefined} text @returns {string[]} its lines; a line end begins no further one */
function linesOf(text) {
  return text ? text.replace(/\n$/, "").split("\n") : [];
}

const HOW = {
  write: "writes", append: "appends to", replace: "replaces in", insert: "inserts into", patch: "patches",
  script: "edits by script", program: "edits by its own code",
};

/** @param {Edit} edit @returns {HTMLElement} the edit as a difference */
function editView(edit) {
  const said = edit.how === "write" && edit.old === undefined ? "writes (text before not seen)" : HOW[edit.how] ?? edit.how;
  const head = h("div", { class: "edit-head" }, `${said} `, h("code", {}, shown(edit.path) || "a file that cannot be told"));
  if (edit.patch !== undefined) {
    const view = new TextView(shown(edit.patch), { head: 6000, tail: 1000, pieces: (text) => byLine(text, patchClass) });
    return h("div", { class: "edit patch" }, head, view.el);
  }
  if (edit.how === "program") return h("div", { class: "edit" }, head);
  if (edit.how === "script") return h("div", { class: "edit" }, head, new TextView(shown(edit.new ?? ""), { head: 2000, tail: 0 }).el);
  const lines = lineDiff(linesOf(edit.old), linesOf(edit.new));
  const added = lines.filter((line) => line.sign === "+").length;
  const removed = lines.filter((line) => line.sign === "-").length;
  head.append(h("span", { class: "counts" }, ` +${added} \u2212${removed}`));
  return h("div", { class: "edit" }, head, diffTable(folded(lines)));
}
