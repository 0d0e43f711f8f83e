// Two attempts at one task, step beside step.

/** Cells the alignment may fill; longer pairs stand beside each other by number. */
const MOST_CELLS = 6_000_000;

/** Texts as numbers, which compare faster. @returns {(text: string) => number} zero for an empty text */
function numbering() {
  const known = new Map([["", 0]]);
  return (text) => {
    if (!known.has(text)) known.set(text, known.size);
    return known.get(text);
  };
}

/** @param {Turn} turn @param {(text: string) => number} number what two turns are compared by */
function signature(turn, number) {
  const call = (turn.calls ?? [])[0];
  const request = call ? call.command ?? (call.arguments ?? []).map(([name, text]) => `${name}=${text}`).join("\n") : "";
  const path = ((call?.edits ?? [])[0] ?? {}).path || "";
  const program = (call?.command ?? call?.tool ?? "").trim().split(/\s+/, 1)[0];
  return {
    kind: number(turn.step === undefined ? turn.role : kindOf(turn)),
    request: number(request || (call ? "" : turn.text ?? "")),
    about: number(path || program),
  };
}

/** @returns {number} how alike two turns are; below zero they do not stand beside each other */
function likeness(a, b) {
  if (a.kind !== b.kind) return -4;
  if (a.request && a.request === b.request) return 5;
  return a.about && a.about === b.about ? 3 : 1;
}

/**
 * @param {Turn[]} left @param {Turn[]} right
 * @returns {[number | null, number | null][]} pairs of places in order (global alignment, Needleman and Wunsch 1970,
 * doi:10.1016/0022-2836(70)90057-4, gaps at -1)
 */
function align(left, right) {
  const rows = left.length + 1;
  const columns = right.length + 1;
  if (rows * columns > MOST_CELLS) return byNumber(left.length, right.length);
  const number = numbering();
  const a = left.map((turn) => signature(turn, number));
  const b = right.map((turn) => signature(turn, number));
  const score = new Int32Array(rows * columns);
  for (let i = 1; i < rows; i += 1) score[i * columns] = -i;
  for (let j = 1; j < columns; j += 1) score[j] = -j;
  for (let i = 1; i < rows; i += 1) {
    for (let j = 1; j < columns; j += 1) {
      const at = i * columns + j;
      const beside = score[at - columns - 1] + likeness(a[i - 1], b[j - 1]);
      score[at] = Math.max(beside, score[at - columns] - 1, score[at - 1] - 1);
    }
  }
  return trail(score, columns, a, b);
}

function trail(score, columns, a, b) {
  /** @type {[number | null, number | null][]} */
  const pairs = [];
  let i = a.length;
  let j = b.length;
  while (i > 0 || j > 0) {
    const at = i * columns + j;
    if (i > 0 && j > 0 && score[at] === score[at - columns - 1] + likeness(a[i - 1], b[j - 1])) pairs.push([--i, --j]);
    else if (i > 0 && score[at] === score[at - columns] - 1) pairs.push([--i, null]);
    else pairs.push([null, --j]);
  }
  return pairs.reverse();
}

/** @param {number} left @param {number} right @returns {[number | null, number | null][]} */
function byNumber(left, right) {
  return Array.from({ length: Math.max(left, right) }, (_, n) => [n < left ? n : null, n < right ? n : null]);
}
