// What hosts hand over, decoded: chunks of turns, and the parts of a turn in reading order.

/**
 * @typedef {{path: string, how: string, old?: string, new?: string, patch?: string}} Edit
 * @typedef {{number: number, tool?: string, command?: string, arguments?: [string, string][], output?: string,
 *   exit_code?: number, is_error?: boolean, executed?: boolean, invalid?: string, by_user?: boolean, seconds?: number,
 *   kind?: string, outcome?: string, tests?: (number | null)[], edits?: Edit[],
 *   hits?: Hit[]}} Call
 * @typedef {{rule: string, tier: number, title: string, text: string, start: number | null, timed_out: boolean}} Hit
 * @typedef {{role: string, step?: number, kind?: string, reasoning?: string, text?: string, calls?: Call[],
 *   refused?: string, finish?: string}} Turn
 * @typedef {{turn: number, name: string, call: Call | null, raw: string, text: string}} Part
 * @typedef {{id: string, title: string, task: string | null, steps: number, chars: number,
 *   facts?: Record<string, Record<string, unknown>>, rewards?: Record<string, unknown>[], hits?: number[],
 *   stratum?: string, probability?: number}} Item
 */

/** @param {string} text base64 @returns {Uint8Array} */
function fromBase64(text) {
  if (typeof Uint8Array.fromBase64 === "function") return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** @param {Uint8Array | DataView} bytes a JSON list, compressed with gzip @returns {Promise<Turn[]>} */
async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** @param {(Uint8Array | DataView)[]} chunks @returns {Promise<Turn[]>} */
async function unpackAll(chunks) {
  const turns = [];
  for (const chunk of chunks) {
    for (const turn of await unpack(chunk)) turns.push(turn);
    await pause();
  }
  return turns;
}

/** Texts of a turn in reading order, as logged; spans of labels count in them. @param {Turn} turn @param {number} number */
function rawParts(turn, number) {
  const parts = [];
  const add = (name, raw, call = null) => {
    if (raw) parts.push({ turn: number, name, call, raw, text: "" });
  };
  add("reasoning", turn.reasoning);
  add("text", turn.text);
  for (const call of turn.calls ?? []) {
    if (call.command) add("command", call.command, call);
    else for (const [name, text] of call.arguments ?? []) add(`argument ${name}`, text, call);
    add("output", call.output, call);
  }
  return parts;
}

/** One trajectory, loaded. */
class Loaded {
  /** @param {Item} item @param {Turn[]} turns @param {Part[][]} parts */
  constructor(item, turns, parts) {
    this.item = item;
    this.turns = turns;
    this.parts = parts;
  }

  /** Text of all parts is made visible here, once, without a long task. @param {Item} item @param {Turn[]} turns */
  static async of(item, turns) {
    const slices = new Slices();
    const parts = [];
    for (const [number, turn] of turns.entries()) {
      const own = rawParts(turn, number);
      for (const part of own) {
        part.text = shown(part.raw);
        if (slices.due) await slices.rest();
      }
      parts.push(own);
    }
    return new Loaded(item, turns, parts);
  }

  /**
   * @param {Part} part @param {number} start @param {number} end offsets in the shown text
   * @param {boolean} inStep whether the span counts in its step alone, else in the whole trajectory
   * @returns {[number, number]} characters as Python counts them in `reading_text`
   */
  span(part, start, end, inStep) {
    const before = inStep ? this.parts[part.turn] : this.parts.flat();
    let at = 0;
    for (const one of before) {
      if (one === part) break;
      at += codePoints(one.raw) + 1;
    }
    const place = (offset) => at + codePoints(part.raw.slice(0, rawOffset(part.raw, offset)));
    return [place(start), place(end)];
  }
}

/** @param {Turn} turn @returns {string} letter of its kind */
function kindOf(turn) {
  return turn.kind ?? "M";
}

/** @param {Call} call @returns {boolean} whether the log says that it failed */
function failed(call) {
  const told = call.outcome && call.outcome !== "unknown" && call.outcome !== "ok";
  return Boolean(told || call.invalid || call.is_error || (call.exit_code ?? 0) !== 0);
}

/** What a reader jumps to. @type {Record<string, (turn: Turn) => boolean>} */
const LANDMARKS = {
  edit: (turn) => (turn.calls ?? []).some((call) => (call.edits ?? []).length > 0 || call.kind === "E"),
  test: (turn) => (turn.calls ?? []).some((call) => call.kind === "T" || call.tests),
  error: (turn) => Boolean(turn.refused) || (turn.calls ?? []).some(failed),
  hit: (turn) => (turn.calls ?? []).some((call) => (call.hits ?? []).length > 0),
};

/** @param {Turn} turn @returns {Hit[]} */
function hitsOf(turn) {
  return (turn.calls ?? []).flatMap((call) => call.hits ?? []);
}

/** @param {string} rule @returns {string} its name as words */
function ruleName(rule) {
  return shown(rule).replaceAll("_", " ");
}

/** @param {Turn} turn @returns {string} what a turn is about, in a line */
function headline(turn) {
  const call = (turn.calls ?? [])[0];
  if (call && call.command) return oneLine(call.command, 140);
  if (call) {
    const said = (call.arguments ?? []).map(([name, text]) => (name ? `${name}=` : "") + text.slice(0, 80)).join("  ");
    return oneLine(`${call.tool ?? "unreadable call"}  ${said}`, 140);
  }
  return oneLine(turn.text || turn.reasoning || turn.refused || "", 140);
}
