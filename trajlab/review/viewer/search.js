// Search in all texts of a trajectory, shown or not; matches are marked without touching the text.

/** Matches that are counted; beyond it the count ends in "+". */
const MOST_MATCHES = 5000;
/** Matches of the page that are marked at once. */
const MOST_MARKED = 2000;

/** @typedef {{part: Part, start: number, end: number}} Match */

/** @param {string} query @returns {RegExp | null} the words as they are; upper case in them makes case count */
function patternOf(query) {
  if (!query) return null;
  const literal = query.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  return new RegExp(literal, query === query.toLowerCase() ? "gi" : "g");
}

/**
 * @param {Part[][]} parts by turn @param {string} query @param {() => boolean} wanted false once another search began
 * @returns {Promise<Match[] | null>} matches in reading order; null when no longer wanted
 */
async function search(parts, query, wanted) {
  const pattern = patternOf(query);
  const matches = [];
  const slices = new Slices();
  for (const part of pattern ? parts.flat() : []) {
    pattern.lastIndex = 0;
    for (let found = pattern.exec(part.text); found; found = pattern.exec(part.text)) {
      matches.push({ part, start: found.index, end: found.index + found[0].length });
      if (matches.length >= MOST_MATCHES) return matches;
    }
    if (slices.due) {
      await slices.rest();
      if (!wanted()) return null;
    }
  }
  return wanted() ? matches : null;
}

/** Marks matches through the CSS Custom Highlight API; where it is missing, a jump still goes to the place. */
class Marks {
  constructor() {
    this.works = typeof Highlight === "function" && typeof CSS !== "undefined" && "highlights" in CSS;
  }

  /** @param {Range[]} all @param {Range | null} current */
  show(all, current) {
    if (!this.works) return;
    CSS.highlights.set("trajlab-match", new Highlight(...all.slice(0, MOST_MARKED)));
    CSS.highlights.set("trajlab-match-now", new Highlight(...(current ? [current] : [])));
  }

  /** @param {Range[]} ranges of what met a rule */
  evidence(ranges) {
    if (this.works) CSS.highlights.set("trajlab-evidence", new Highlight(...ranges));
  }

  clear() {
    if (!this.works) return;
    CSS.highlights.delete("trajlab-match");
    CSS.highlights.delete("trajlab-match-now");
  }
}
