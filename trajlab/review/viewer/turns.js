// The list of turns: a light shell for each, whose body is made when it comes near the window.

/** Characters of a text shown at first, from its beginning and its end. */
const EXCERPTS = {
  text: { head: 6000, tail: 1500 },
  prompt: { head: 1600, tail: 400 },
  reasoning: { head: 2500, tail: 500 },
  command: { head: 3000, tail: 600 },
  output: { head: 1800, tail: 900 },
};
/** Time for making bodies before the browser gets its turn. */
const FILL_MILLISECONDS = 10;
/** Time for which a turn is held in view after a jump to it. */
const SETTLE_MILLISECONDS = 1000;
/** Rows that the browser lays out together, or not at all while they are out of sight. */
const GROUP_ROWS = 20;
/** Characters of what met a rule that stand beside the rule's name. */
const EVIDENCE_SHOWN = 160;
/** A thought up to this length stands open. */
const SHORT_THOUGHT = 500;

/** @param {boolean | undefined} bad @param {string} text */
function badge(bad, text) {
  return h("span", { class: `badge ${bad ? "bad" : "good"}` }, `${bad ? "\u2717" : "\u2713"} ${text}`);
}

/** @param {Call} call @returns {HTMLElement | null} counts of the tests it ran */
function testsBadge(call) {
  if (!call.tests) return null;
  const [passed, wrong, errors, skipped] = call.tests;
  const said = [[passed, "passed"], [wrong, "failed"], [errors, "errors"], [skipped, "skipped"]];
  const text = said.filter(([n]) => n).map(([n, word]) => `${thousands(n)} ${word}`).join(", ") || "no tests";
  return badge(Boolean(wrong || errors), text);
}

/** @param {Call} call @returns {HTMLElement[]} how it ended, as far as the log tells */
function stateBadges(call) {
  const badges = [];
  if (call.invalid) badges.push(badge(true, shown(call.invalid).replace("_", " ")));
  if (call.executed === false) badges.push(badge(true, "not executed"));
  if (call.exit_code !== undefined) badges.push(badge(call.exit_code !== 0, `exit code ${call.exit_code}`));
  else if (call.is_error !== undefined) badges.push(badge(call.is_error, call.is_error ? "error" : "no error"));
  if (call.outcome && !["ok", "failed", "unknown"].includes(call.outcome)) badges.push(badge(true, call.outcome.replace("_", " ")));
  const tests = testsBadge(call);
  return tests ? [...badges, tests] : badges;
}

/** @param {string} summary @param {boolean} open @param {...Node} children */
function fold(summary, open, ...children) {
  return h("details", { class: "fold", open }, h("summary", {}, summary), ...children);
}

/** One turn in the list. */
class TurnCell {
  /** @param {Loaded} loaded @param {number} number place in the trajectory @param {Record<string, string>} kinds */
  constructor(loaded, number, kinds) {
    this.loaded = loaded;
    this.number = number;
    this.turn = loaded.turns[number];
    this.chars = loaded.parts[number].reduce((sum, part) => sum + part.text.length, 0);
    /** @type {Map<Part, TextView>} */
    this.views = new Map();
    this.filled = false;
    this.el = this.#shell(kinds);
  }

  #shell(kinds) {
    const { turn, number } = this;
    const kind = kindOf(turn);
    const id = uniqueId("turn");
    const who = turn.step === undefined ? shown(turn.role) : `step ${turn.step}`;
    const badges = (turn.calls ?? []).slice(0, 4).flatMap((call) => {
      const wrong = failed(call);
      return call.tests ? [testsBadge(call)] : wrong ? [badge(true, "failed")] : [];
    });
    if (turn.refused) badges.push(badge(true, "refused"));
    const rules = [...new Set(hitsOf(turn).map((hit) => ruleName(hit.rule)))];
    if (rules.length) badges.push(h("span", { class: "badge hit" }, `\u25b2 ${rules[0]}${rules.length > 1 ? ` +${rules.length - 1}` : ""}`));
    this.mark = h("span", { class: "badge label", hidden: true });
    this.body = h("div", { class: "body" });
    return h(
      "article",
      { class: "turn", "data-kind": kind, tabindex: "-1", "aria-labelledby": id, "aria-posinset": number + 1, "aria-setsize": this.loaded.turns.length },
      h("h3", { id }, h("span", { class: "who" }, who), h("span", { class: "kind" }, h("b", {}, kind), ` ${kinds[kind] ?? "other"}`), h("span", { class: "line" }, headline(turn)), ...badges, this.mark),
      this.body,
    );
  }

  /** @param {Part | undefined} part @param {{head: number, tail: number}} size @param {(text: string) => Piece[]} [pieces] */
  #view(part, size, pieces) {
    if (!part) return null;
    const view = new TextView(part.text, { ...size, pieces, part });
    view.el.dataset.part = part.name.split(" ")[0];
    this.views.set(part, view);
    return view.el;
  }

  fill() {
    if (this.filled) return;
    this.filled = true;
    const { turn } = this;
    const parts = this.loaded.parts[this.number];
    const named = (name) => parts.find((part) => part.name === name && !part.call);
    const hits = hitsOf(turn);
    const children = hits.length ? [h("div", { class: "hit-notes" }, ...hits.map((hit) => this.#hit(hit)))] : [];
    const thought = named("reasoning");
    const said = named("text");
    if (thought) {
      const view = this.#view(thought, EXCERPTS.reasoning);
      children.push(fold(`reasoning \u00b7 ${counted(thought.text.length, "character")}`, thought.text.length <= SHORT_THOUGHT || !said, view));
    }
    const asPatch = turn.role === "submission";
    const size = turn.step === undefined ? EXCERPTS.prompt : EXCERPTS.text;
    if (said) children.push(this.#view(said, size, asPatch ? (text) => byLine(text, patchClass) : byFence));
    for (const call of turn.calls ?? []) children.push(this.#call(call, parts.filter((part) => part.call === call), said));
    if (turn.refused) children.push(h("p", { class: "note bad" }, `The scaffold refused this turn: ${shown(turn.refused)}`));
    if (!children.length) children.push(h("p", { class: "note" }, "An empty turn."));
    this.body.append(...children);
  }

  /** @param {Call} call @param {Part[]} parts @param {Part | undefined} said text of the turn */
  #call(call, parts, said) {
    const asked = parts.filter((part) => part.name !== "output");
    const output = parts.find((part) => part.name === "output");
    const edits = (call.edits ?? []).map(editView);
    const requests = asked.map((part) => {
      const name = part.name.replace(/^(argument|command) ?/, "");
      const label = name ? [h("div", { class: "argument" }, shown(name))] : [];
      return h("div", { class: "request" }, ...label, this.#view(part, EXCERPTS.command));
    });
    const repeated = Boolean(said && call.command && said.raw.includes(call.command));
    const shownRequests = repeated || edits.length
      ? [fold(repeated ? "command, as in the text above" : "the call as logged", false, ...requests)]
      : requests;
    const head = h("div", { class: "call-head" }, h("span", { class: "tool" }, shown(call.tool ?? "unreadable call")), ...(call.by_user ? [" by the simulated user"] : []), ...(call.seconds !== undefined ? [` ${call.seconds.toFixed(1)} s`] : []));
    return h("section", { class: "call", "aria-label": `call ${call.number}` }, head, ...edits, ...(requests.length ? shownRequests : []), this.#result(call, output));
  }

  /** @param {Hit} hit @returns {HTMLElement} which rule was met, what it looks for, and by what: read before the turn itself */
  #hit(hit) {
    const head = [h("b", {}, `\u25b2 ${ruleName(hit.rule)}`), hit.title ? `: ${hit.title}` : "", ` (tier ${hit.tier})`];
    if (hit.timed_out || !hit.text) return h("p", { class: "note hit" }, ...head, hit.timed_out ? ": the search ran out of time: not known" : "");
    const go = button("to the place", () => this.el.dispatchEvent(new CustomEvent("evidence", { bubbles: true, detail: hit })), { class: "link" });
    return h("p", { class: "note hit" }, ...head, " ", h("code", {}, oneLine(hit.text, EVIDENCE_SHOWN)), " ", go);
  }

  /** @returns {{hit: Hit, view: TextView, start: number, end: number}[]} where the text that met a rule stands, seen or folded */
  evidence() {
    const places = [];
    const views = [...this.body.querySelectorAll(".text")].map((el) => VIEWS.get(el)).filter((view) => view && view.part?.name !== "output");
    for (const call of this.turn.calls ?? []) {
      for (const hit of call.hits ?? []) {
        const wanted = shown(hit.text);
        for (const view of wanted ? views : []) {
          const start = (view.part?.call ?? call) === call ? placeOf(view.text, call, hit, wanted) : -1;
          if (start >= 0) places.push({ hit, view, start, end: start + wanted.length });
        }
      }
    }
    return places;
  }

  /** @param {Call} call @param {Part | undefined} output */
  #result(call, output) {
    const empty = call.output === "" ? "nothing came back" : "no result is recorded";
    const size = output ? `result \u00b7 ${counted(output.text.length, "character")}` : empty;
    const head = h("div", { class: "result-head" }, h("span", {}, size), ...stateBadges(call));
    return h("div", { class: "result" }, head, this.#view(output, EXCERPTS.output, byOutput));
  }

  /** Open all that is folded and show more of long texts; or fold it again. @returns {boolean} whether it is open now */
  toggle() {
    const folds = [...this.body.querySelectorAll("details")];
    const cut = [...this.views.values()].filter((view) => view.open.length > 1);
    const open = folds.some((one) => !one.open) || cut.length > 0;
    folds.forEach((one) => (one.open = open));
    if (open) cut.forEach((view) => view.more());
    return open;
  }

  /** @param {number} answers that this turn has */
  label(answers) {
    this.mark.hidden = answers === 0;
    this.mark.textContent = answers ? `\u270e ${counted(answers, "label")}` : "";
  }
}

/** Where a text has what met a rule: at its place in the call's command, else wherever it stands. @param {string} text @param {Call} call @param {Hit} hit @param {string} wanted */
function placeOf(text, call, hit, wanted) {
  const command = call.command && hit.start !== null ? text.indexOf(shown(call.command)) : -1;
  return command < 0 ? text.indexOf(wanted) : command + shown(call.command.slice(0, unitsOf(call.command, hit.start))).length;
}

/** Rows of one turn, or of two that stand beside each other. */
class TurnList {
  /** @param {(row: number, side: number) => void} onselect @param {Record<string, string>} kinds */
  constructor(onselect, kinds) {
    this.onselect = onselect;
    this.kinds = kinds;
    this.el = h("div", { class: "turns", role: "feed", "aria-label": "Turns", tabindex: "-1" });
    /** @type {{el: HTMLElement, cells: (TurnCell | null)[]}[]} */
    this.rows = [];
    this.row = 0;
    this.side = 0;
    this.generation = 0;
    /** @type {Set<number>} */
    this.waiting = new Set();
    this.working = false;
    /** Counts what is brought into view, so that only the last is held there. */
    this.holding = 0;
    for (const name of ["keydown", "wheel", "pointerdown", "touchstart"]) {
      this.el.addEventListener(name, () => (this.holding += 1), { capture: true, passive: true });
    }
    this.observer = new IntersectionObserver((entries) => this.#seen(entries), { root: this.el, rootMargin: "900px 0px" });
    this.byElement = new WeakMap();
    this.el.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Rows near the window wait for their bodies; those that left it before wait no longer. @param {IntersectionObserverEntry[]} entries */
  #seen(entries) {
    for (const entry of entries) {
      const at = this.byElement.get(entry.target);
      if (entry.isIntersecting) this.waiting.add(at);
      else this.waiting.delete(at);
    }
    this.#soon();
  }

  /** @param {HTMLElement} el @returns {number} pixels from the top of the window to the element */
  #top(el) {
    return el.getBoundingClientRect().top - this.el.getBoundingClientRect().top;
  }

  #soon() {
    if (!this.waiting.size || this.working) return;
    this.working = true;
    setTimeout(() => {
      this.working = false;
      this.#work();
    }, 0);
  }

  /** Make bodies for a few milliseconds, the nearest to the middle of the window first. */
  #work() {
    const slices = new Slices(FILL_MILLISECONDS);
    const middle = this.el.clientHeight / 2;
    const away = new Map([...this.waiting].map((at) => [at, Math.abs(this.#top(this.rows[at].el) - middle)]));
    for (const at of [...this.waiting].sort((a, b) => away.get(a) - away.get(b))) {
      this.fill(at);
      if (slices.due) break;
    }
    this.#soon();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const article = target.closest("article.turn");
    const at = this.rows.findIndex((row) => row.el === article?.parentElement);
    if (!article || at < 0) return;
    const side = this.rows[at].cells.findIndex((cell) => cell?.el === article);
    this.select(at, side, { scroll: false, focus: !target.closest("button, summary, a, input") && document.getSelection()?.isCollapsed !== false });
  }

  /** @param {number} at */
  fill(at) {
    this.waiting.delete(at);
    const row = this.rows[at];
    if (!row) return;
    this.observer.unobserve(row.el);
    for (const cell of row.cells) cell?.fill();
    this.onfill?.(at);
  }

  /**
   * @param {Loaded[]} columns one, or two to stand beside each other
   * @param {(number | null)[][]} places of their turns, by row
   * @returns {Promise<boolean>} whether it was finished before another list was asked for
   */
  async show(columns, places) {
    const mine = (this.generation += 1);
    this.observer.disconnect();
    this.waiting.clear();
    this.rows = [];
    this.el.replaceChildren();
    this.el.classList.toggle("two", columns.length > 1);
    this.el.setAttribute("aria-busy", "true");
    this.el.scrollTop = 0;
    const slices = new Slices();
    for (const pair of places) {
      this.#append(columns, pair);
      if (!slices.due) continue;
      await slices.rest();
      if (mine !== this.generation) return false;
    }
    this.el.setAttribute("aria-busy", "false");
    return true;
  }

  /** @param {Loaded[]} columns @param {(number | null)[]} pair */
  #append(columns, pair) {
    const cells = pair.map((place, side) => (place === null ? null : new TurnCell(columns[side], place, this.kinds)));
    const el = h("div", { class: "row" }, ...cells.map((cell) => cell?.el ?? h("div", { class: "no-turn" })));
    this.byElement.set(el, this.rows.length);
    if (this.rows.length % GROUP_ROWS === 0) this.el.append(h("div", { class: "rows", role: "presentation" }));
    this.rows.push({ el, cells });
    this.el.lastElementChild.append(el);
    this.observer.observe(el);
  }

  /** @returns {TurnCell | null} the turn that is selected */
  get current() {
    return this.rows[this.row]?.cells[this.side] ?? null;
  }

  /** @param {number} row @param {number} side @param {{scroll?: boolean, focus?: boolean}} [how] */
  select(row, side, { scroll = true, focus = true } = {}) {
    const cell = this.rows[row]?.cells[side];
    if (!cell) return;
    const before = this.current;
    before?.el.classList.remove("current");
    before?.el.removeAttribute("aria-current");
    before?.el.setAttribute("tabindex", "-1");
    this.row = row;
    this.side = side;
    this.holding += 1;
    cell.el.classList.add("current");
    cell.el.setAttribute("aria-current", "true");
    cell.el.setAttribute("tabindex", "0");
    for (const near of [row - 1, row, row + 1]) this.fill(near);
    if (scroll) this.#scroll(row);
    if (focus) cell.el.focus({ preventScroll: true });
    this.onselect(row, side);
  }

  /** Into view, and kept there while turns above get their height, until the reader goes elsewhere. @param {number} at */
  #scroll(at) {
    const { el } = this.rows[at];
    const until = performance.now() + SETTLE_MILLISECONDS;
    const mine = (this.holding += 1);
    const place = () => {
      if (mine !== this.holding || !el.isConnected) return;
      const top = this.#top(el);
      const fits = top >= 0 && top + Math.min(el.offsetHeight, this.el.clientHeight - 40) <= this.el.clientHeight;
      if (!fits) this.el.scrollTop += top - 6;
      if (performance.now() < until) requestAnimationFrame(place);
    };
    place();
  }

  /**
   * @param {number} direction @param {(turn: Turn) => boolean} [wanted] @param {number} [from]
   * @returns {number} the next such row on this side, or -1
   */
  next(direction, wanted = () => true, from = this.row) {
    for (let at = from + direction; at >= 0 && at < this.rows.length; at += direction) {
      const cell = this.rows[at].cells[this.side];
      if (cell && wanted(cell.turn)) return at;
    }
    return -1;
  }

  /** @param {number} place of a turn on a side @param {number} side @returns {number} its row */
  rowOf(place, side) {
    return this.rows.findIndex((row) => row.cells[side]?.number === place);
  }

  /** Show the place of a text. @param {Part} part @param {number} start @param {number} end @param {number} side @returns {Range | null} */
  reveal(part, start, end, side) {
    const at = this.rowOf(part.turn, side);
    if (at < 0) return null;
    this.select(at, side, { scroll: false, focus: false });
    const view = this.rows[at].cells[side]?.views.get(part);
    return view ? this.revealIn(at, view, start, end) : null;
  }

  /** Show the place of a text of a row. @param {number} at @param {TextView} view @param {number} start @param {number} end @returns {Range | null} */
  revealIn(at, view, start, end) {
    this.holding += 1;
    view.reveal(start, end);
    for (let el = view.el.parentElement; el && el !== this.el; el = el.parentElement) {
      if (el instanceof HTMLDetailsElement) el.open = true;
    }
    const range = view.range(start, end);
    const center = () => this.#center(range ?? this.rows[at].el);
    center();
    requestAnimationFrame(center);
    return range;
  }

  /** @param {Range | HTMLElement} target */
  #center(target) {
    const box = target.getBoundingClientRect();
    const own = this.el.getBoundingClientRect();
    if (box.top < own.top + 40 || box.bottom > own.bottom - 40) this.el.scrollTop += box.top - own.top - this.el.clientHeight / 3;
  }
}
