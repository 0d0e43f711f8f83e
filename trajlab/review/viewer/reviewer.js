// The reviewer: one trajectory at a time, or two beside each other, with its questions.

/**
 * @typedef {{schema: string, label_schema: string, sample: string, blind: boolean, reviewer: string | null,
 *   rubric: {name: string, question: Question[]}, kinds: Record<string, string>, docs: Record<string, string>,
 *   items: Item[]}} Index
 * @typedef {{index: Index, keys: EventTarget, reviewer: string, labels: Label[], load: (place: number) => Promise<Turn[]>,
 *   save: (row: Label, book: LabelBook) => Promise<string>, nameReviewer?: (name: string) => void,
 *   tools?: (reviewer: Reviewer) => HTMLElement[], warning?: string}} Host
 */

class Reviewer {
  /** @param {HTMLElement} root @param {Host} host */
  constructor(root, host) {
    this.root = root;
    this.host = host;
    this.index = host.index;
    this.book = new LabelBook();
    host.labels.forEach((row) => this.book.put(row));
    this.place = 0;
    /** While a trajectory is on its way, no key may label the one before it. */
    this.busy = true;
    /** Until a turn is chosen, a jump finds the one that is selected when a trajectory opens. */
    this.fresh = false;
    /** @type {(Loaded | null)[]} */
    this.loaded = [];
    /** @type {Strip[]} */
    this.strips = [];
    this.marks = new Marks();
    this.searching = 0;
    /** @type {Match[]} */
    this.matches = [];
    this.match = -1;
    this.#build();
    this.press = (event) => this.#key(event);
    host.keys.addEventListener("keydown", this.press);
    this.open(0);
  }

  remove() {
    this.host.keys.removeEventListener("keydown", this.press);
    this.list.observer.disconnect();
    this.strips.forEach((strip) => strip.remove());
    this.marks.clear();
    this.root.replaceChildren();
  }

  // What the page is made of

  #build() {
    this.root.classList.add("trajlab-review");
    this.root.setAttribute("data-lm-suppress-shortcuts", "true");
    this.list = new TurnList(() => this.#selected(), this.index.kinds);
    this.list.onfill = () => this.#markSoon();
    this.list.el.addEventListener("more", () => {
      this.#markSoon();
      this.#markEvidence();
    });
    this.list.el.addEventListener("evidence", (event) => this.#toEvidence(event));
    this.questions = new Questions(this.index.rubric, { answer: (question, change) => this.answer(question, change) });
    this.help = helpDialog(this.index.kinds);
    this.status = h("p", { class: "status", role: "status", "aria-live": "polite" });
    this.warning = h("p", { class: "warning", role: "alert", hidden: !this.host.warning }, this.host.warning ?? "");
    this.stripPlace = h("div", { class: "strips" });
    this.factsPlace = h("div", {});
    this.items = this.#itemList();
    const side = h("aside", { class: "side", "aria-label": "Questions and facts" }, this.questions.el, this.factsPlace);
    this.root.replaceChildren(this.#bar(), this.warning, this.stripPlace, h("div", { class: "columns" }, this.items, this.list.el, side), this.status, this.help);
  }

  #bar() {
    this.title = h("h2", { class: "title" });
    this.progress = h("span", { class: "place" });
    this.search = /** @type {HTMLInputElement} */ (h("input", {
      type: "search", placeholder: "Search (/)", "aria-label": "Search in the trajectory",
      oninput: () => this.#searchSoon(), onkeydown: (event) => this.#searchKey(event),
    }));
    this.count = h("span", { class: "count", role: "status", "aria-live": "polite" });
    this.name = /** @type {HTMLInputElement} */ (h("input", {
      type: "text", class: "reviewer", placeholder: "Your name", "aria-label": "Reviewer", value: this.host.reviewer,
      disabled: !this.host.nameReviewer, onchange: () => this.#named(),
    }));
    this.other = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Beside", hidden: true, onchange: () => this.#compareWith(Number(this.other.value)) }));
    this.comparing = button("Compare", () => this.toggleCompare(), { "aria-pressed": "false", title: "beside another attempt (c)" });
    return h(
      "header",
      { class: "bar" },
      h("div", { class: "group" }, button("\u2039", () => this.previousItem(), { "aria-label": "Previous trajectory", title: "[" }), button("\u203a", () => this.nextItem(), { "aria-label": "Next trajectory", title: "]" }), this.title, this.progress),
      h("div", { class: "group" }, this.search, this.count),
      h("div", { class: "group" }, this.comparing, this.other, this.name, ...(this.host.tools?.(this) ?? []), button("?", () => this.openHelp(), { "aria-label": "Keys and help" })),
    );
  }

  #itemList() {
    this.itemButtons = this.index.items.map((item, at) =>
      button("", () => this.open(at), { class: "item" }));
    const list = h("ol", {}, ...this.itemButtons.map((one) => h("li", {}, one)));
    return h("nav", { class: "items", "aria-label": "Trajectories" }, list);
  }

  // Trajectories

  /** @returns {Item} the trajectory that is selected */
  get item() {
    return (this.loaded[this.list.side] ?? this.loaded[0])?.item ?? this.index.items[this.place];
  }

  /** @param {number} place */
  async open(place) {
    if (place < 0 || place >= this.index.items.length) {
      this.say(place < 0 ? "This is the first trajectory." : "This is the last trajectory.");
      return;
    }
    this.place = place;
    this.busy = true;
    const loaded = await this.#load(place);
    if (!loaded || this.place !== place) return;
    this.#alone();
    await this.#show([loaded]);
  }

  /** @param {number} place @returns {Promise<Loaded | null>} */
  async #load(place) {
    const item = this.index.items[place];
    this.say(`Loading ${oneLine(item.title, 60)} \u2026`);
    try {
      return await Loaded.of(item, await this.host.load(place));
    } catch (error) {
      this.warn(`${oneLine(item.title, 60)} could not be loaded: ${shown(error?.message ?? error)}`);
      return null;
    }
  }

  /** @param {Loaded[]} columns */
  async #show(columns) {
    this.loaded = columns;
    this.#forgetMatches();
    this.strips.forEach((strip) => strip.remove());
    this.strips = columns.map((_, side) => new Strip(this.list, side, {
      pick: (row) => this.list.select(row, side),
      labelled: (cell) => this.#answers(cell) > 0,
    }));
    this.stripPlace.replaceChildren(...this.strips.map((strip) => strip.el));
    const places = columns.length === 1 ? columns[0].turns.map((_, at) => [at]) : align(columns[0].turns, columns[1].turns);
    this.list.row = 0;
    this.list.side = 0;
    if (!(await this.list.show(columns, places))) return;
    const first = Math.max(0, this.list.rows.findIndex((row) => row.cells[0]?.turn.step !== undefined));
    this.list.select(first, 0, { scroll: false, focus: !this.root.querySelector("input:focus, textarea:focus") });
    if (!this.list.current) {
      this.#facts();
      this.#showAnswers();
      this.list.el.append(h("p", { class: "note" }, "No turn of this trajectory is recorded."));
    }
    this.#labelled();
    this.#advance(0);
    this.busy = false;
    this.fresh = true;
    this.say(`${oneLine(this.item.title, 80)}: ${counted(this.item.steps, "step")}.`);
    if (this.search.value) this.#search();
  }

  nextItem() {
    this.open(this.place + 1);
  }

  previousItem() {
    this.open(this.place - 1);
  }

  focusItems() {
    this.root.classList.remove("narrow");
    this.itemButtons[this.place].focus();
  }

  // Two beside each other

  #alone() {
    this.comparing.setAttribute("aria-pressed", "false");
    this.other.hidden = true;
  }

  /** Other attempts at the task first. @returns {number[]} */
  #others() {
    const { task } = this.index.items[this.place];
    const places = this.index.items.map((_, at) => at).filter((at) => at !== this.place);
    const same = (at) => task !== null && this.index.items[at].task === task;
    return [...places.filter(same), ...places.filter((at) => !same(at))];
  }

  async toggleCompare() {
    if (this.loaded.length > 1) {
      await this.open(this.place);
      return;
    }
    const others = this.#others();
    if (!others.length) {
      this.say("There is no other trajectory.");
      return;
    }
    const { task } = this.index.items[this.place];
    const same = others.filter((at) => task !== null && this.index.items[at].task === task);
    const option = (at) => h("option", { value: at }, `${at + 1}: ${oneLine(this.index.items[at].title, 50)}`);
    const rest = others.slice(same.length);
    const groups = [["attempts at this task", same], ["other tasks", rest]].filter(([, places]) => places.length);
    this.other.replaceChildren(...groups.map(([label, places]) => h("optgroup", { label }, ...places.map(option))));
    this.other.hidden = false;
    this.comparing.setAttribute("aria-pressed", "true");
    await this.#compareWith(others[0]);
    if (!same.length) this.say("No other attempt at this task is in the sample: beside one at another task.");
  }

  /** @param {number} place */
  async #compareWith(place) {
    const left = this.loaded[0];
    this.busy = true;
    const right = await this.#load(place);
    if (!left || !right || this.loaded[0] !== left) {
      this.busy = this.loaded[0] !== left;
      return;
    }
    this.other.value = String(place);
    await this.#show([left, right]);
  }

  otherSide() {
    if (this.loaded.length < 2) {
      this.say("There is no other side.");
      return;
    }
    const side = 1 - this.list.side;
    for (let away = 0; away < this.list.rows.length; away += 1) {
      const row = [this.list.row - away, this.list.row + away].find((at) => this.list.rows[at]?.cells[side]);
      if (row !== undefined) {
        this.list.select(row, side);
        return;
      }
    }
  }

  // Turns

  #selected() {
    this.strips.forEach((strip) => strip.point());
    const { item } = this;
    if (this.shownItem === item && this.shownTurn === this.list.current) return;
    if (this.shownItem !== item) this.#facts();
    this.shownItem = item;
    this.fresh = false;
    this.shownTurn = this.list.current;
    this.#markEvidence();
    this.#showAnswers();
  }

  /** Mark what met a rule in the selected turn. */
  #markEvidence() {
    const places = this.list.current?.evidence() ?? [];
    this.marks.evidence(places.map(({ view, start, end }) => view.range(start, end)).filter(Boolean));
  }

  /** @param {CustomEvent} event of the turn whose hit is asked for */
  #toEvidence(event) {
    const at = this.list.rows.findIndex((row) => row.cells.some((cell) => cell?.el === event.target));
    const side = this.list.rows[at].cells.findIndex((cell) => cell?.el === event.target);
    const places = this.list.rows[at].cells[side].evidence().filter(({ hit }) => hit === event.detail);
    const place = places.find(({ view }) => !view.el.closest("details:not([open])")) ?? places[0];
    this.list.select(at, side, { scroll: false, focus: false });
    if (place) this.list.revealIn(at, place.view, place.start, place.end);
    else this.say("The text that met the rule does not stand in this turn as it is.");
    this.#markEvidence();
  }

  #facts() {
    const side = this.list.side;
    const loaded = this.loaded[side] ?? this.loaded[0];
    const view = factsView(loaded, this.index, (turn) => this.list.select(this.list.rowOf(turn, side), side));
    this.factsPlace.replaceChildren(view);
    const at = this.index.items.indexOf(loaded.item);
    this.title.textContent = oneLine(loaded.item.title, 90);
    this.itemButtons.forEach((one, number) => (number === at ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current")));
    const nav = this.items;
    const chosen = this.itemButtons[at];
    if (chosen.offsetTop < nav.scrollTop || chosen.offsetTop + chosen.offsetHeight > nav.scrollTop + nav.clientHeight) nav.scrollTop = chosen.offsetTop - nav.clientHeight / 3;
  }

  /** The next such turn; in a trajectory just opened, the one that is selected counts too. @param {number} direction @param {string} name @param {number} [from] */
  #next(direction, name, from = this.fresh && direction > 0 ? this.list.row - 1 : undefined) {
    return this.list.next(direction, LANDMARKS[name], from);
  }

  /** @param {number} direction @param {string} name @param {number} [from] @returns {boolean} whether there is one */
  #jump(direction, name, from) {
    const wanted = LANDMARKS[name];
    const at = this.#next(direction, name, from);
    if (at < 0) {
      this.say(`No ${direction > 0 ? "further" : "earlier"} ${name}.`);
      return false;
    }
    this.list.select(at, this.list.side);
    this.fresh = false;
    const all = this.list.rows.map((row, number) => (row.cells[this.list.side] && wanted(row.cells[this.list.side].turn) ? number : -1)).filter((number) => number >= 0);
    this.say(`${name} ${all.indexOf(at) + 1} of ${all.length}`);
    return true;
  }

  nextEdit() { this.#jump(1, "edit"); }
  previousEdit() { this.#jump(-1, "edit"); }
  nextTest() { this.#jump(1, "test"); }
  previousTest() { this.#jump(-1, "test"); }
  nextError() { this.#jump(1, "error"); }
  previousError() { this.#jump(-1, "error"); }
  nextHit() { return this.#hit(1); }
  previousHit() { return this.#hit(-1); }

  /** To the next hit; after the last one of a trajectory, to the first of the next that has one. @param {number} direction */
  async #hit(direction) {
    if (this.busy) return;
    let from;
    const place = this.loaded.length === 1 && this.#next(direction, "hit") < 0 ? this.#itemWithHit(direction) : undefined;
    if (place !== undefined) {
      await this.open(place);
      if (this.place !== place || this.busy) return;
      from = direction > 0 ? -1 : this.list.rows.length;
    }
    if (this.#jump(direction, "hit", from)) this.#sayHit();
  }

  /** @param {number} direction @returns {number | undefined} the nearest trajectory with a hit */
  #itemWithHit(direction) {
    const { items } = this.index;
    for (let at = this.place + direction; at >= 0 && at < items.length; at += direction) if (items[at].hits?.length) return at;
    return undefined;
  }

  /** Which hit of how many, here and in the whole sample, and of which rules. */
  #sayHit() {
    const { turn, loaded } = this.list.current;
    const rules = [...new Set(hitsOf(turn).map((hit) => ruleName(hit.rule)))].join(", ");
    const at = this.index.items.indexOf(loaded.item);
    const count = (items) => items.reduce((sum, item) => sum + (item.hits?.length ?? 0), 0);
    const own = (loaded.item.hits ?? []).indexOf(turn.step) + 1;
    const all = `${count(this.index.items.slice(0, at)) + own} of ${count(this.index.items)} in the sample`;
    this.say(`hit ${own} of ${count([loaded.item])}, ${all}: ${rules}`);
  }

  /** @param {number} direction @param {number} [from] */
  #move(direction, from) {
    const at = this.list.next(direction, undefined, from);
    if (at < 0) this.say(direction > 0 ? "This is the last turn." : "This is the first turn.");
    else this.list.select(at, this.list.side);
  }

  nextTurn() { this.#move(1); }
  previousTurn() { this.#move(-1); }

  firstTurn() { this.#move(1, -1); }
  lastTurn() { this.#move(-1, this.list.rows.length); }

  toggleTurn() {
    const open = this.list.current?.toggle();
    this.say(open ? "Opened." : "Folded.");
    this.#markSoon();
  }

  togglePanels() {
    this.root.classList.toggle("narrow");
    this.strips.forEach((strip) => strip.draw());
  }

  openHelp() {
    this.help.showModal();
  }

  // Search

  focusSearch() {
    this.search.focus();
    this.search.select();
  }

  #searchSoon() {
    clearTimeout(this.searchTimer);
    this.searchTimer = setTimeout(() => this.#search(), 150);
  }

  #forgetMatches() {
    this.searching += 1;
    this.matches = [];
    this.match = -1;
    this.marks.clear();
    this.count.textContent = "";
  }

  /** @returns {Promise<void>} */
  async #search() {
    clearTimeout(this.searchTimer);
    this.#forgetMatches();
    const mine = this.searching;
    const query = this.search.value;
    const side = this.list.side;
    const found = await search(this.loaded[side]?.parts ?? [], shown(query), () => mine === this.searching);
    if (!found) return;
    this.matches = found;
    this.matchSide = side;
    this.strips.forEach((strip) => (strip.matched = new Set(strip.side === side ? found.map((match) => match.part.turn) : [])));
    this.strips.forEach((strip) => strip.draw());
    this.searched = query;
    this.#count();
    this.#mark();
  }

  #count() {
    const total = thousands(this.matches.length) + (this.matches.length >= MOST_MATCHES ? "+" : "");
    this.count.textContent = !this.search.value ? "" : !this.matches.length ? "no match" : this.match < 0 ? `${total} matches` : `${thousands(this.match + 1)} / ${total}`;
  }

  /** @param {number} direction */
  async #goMatch(direction) {
    if (this.search.value !== this.searched) await this.#search();
    if (!this.matches.length) {
      this.say(this.search.value ? "No match." : "Nothing to search for: press /.");
      return;
    }
    const count = this.matches.length;
    this.match = this.match < 0 ? this.#nearestMatch(direction) : (this.match + direction + count) % count;
    const { part, start, end } = this.matches[this.match];
    this.list.reveal(part, start, end, this.matchSide);
    this.#count();
    this.#mark();
  }

  /** @param {number} direction @returns {number} the first match from the selected turn on */
  #nearestMatch(direction) {
    const here = this.list.current?.number ?? 0;
    const at = direction > 0 ? this.matches.findIndex((match) => match.part.turn >= here) : this.matches.findLastIndex((match) => match.part.turn <= here);
    return at < 0 ? (direction > 0 ? 0 : this.matches.length - 1) : at;
  }

  nextMatch() { return this.#goMatch(1); }
  previousMatch() { return this.#goMatch(-1); }

  /** Marks again when turns came into view. */
  #markSoon() {
    if (!this.matches.length || this.marking) return;
    this.marking = requestAnimationFrame(() => {
      this.marking = 0;
      this.#mark();
    });
  }

  #mark() {
    const ranges = [];
    for (const row of this.list.rows) {
      const cell = row.cells[this.matchSide ?? 0];
      if (cell?.filled) ranges.push(...this.#rangesOf(cell));
      if (ranges.length > MOST_MARKED) break;
    }
    const now = this.matches[this.match];
    const cell = now && this.list.rows[this.list.rowOf(now.part.turn, this.matchSide)]?.cells[this.matchSide];
    this.marks.show(ranges, cell?.views.get(now.part)?.range(now.start, now.end) ?? null);
  }

  /** @param {TurnCell} cell @returns {Range[]} */
  #rangesOf(cell) {
    if (this.matchesOf?.of !== this.matches) this.matchesOf = { of: this.matches, by: Map.groupBy ? Map.groupBy(this.matches, (match) => match.part) : groupedBy(this.matches, (match) => match.part) };
    const ranges = [];
    for (const [part, view] of cell.views) {
      for (const match of (this.matchesOf.by.get(part) ?? []).slice(0, 200)) {
        const range = view.range(match.start, match.end);
        if (range) ranges.push(range);
      }
    }
    return ranges;
  }

  /** @param {KeyboardEvent} event */
  #searchKey(event) {
    if (event.key === "Enter") this.#goMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") this.list.current?.el.focus({ preventScroll: true });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Labels

  get reviewerName() {
    return this.name.value.trim();
  }

  #named() {
    this.host.nameReviewer?.(this.reviewerName);
    this.#labelled();
    this.#showAnswers();
  }

  /** @param {Question} question @returns {number | null | undefined} its step; undefined where a turn is no step */
  #stepFor(question) {
    return question.per === "step" ? this.list.current?.turn.step : null;
  }

  /** @param {Question} question @returns {Label | undefined} */
  #labelOf(question) {
    const step = this.#stepFor(question);
    return step === undefined ? undefined : this.book.get(this.reviewerName, this.item.id, step, question.id);
  }

  #showAnswers() {
    this.questions.show((question) => this.#labelOf(question));
  }

  /** @param {Question} question @param {Change} change */
  async answer(question, change) {
    const step = this.#stepFor(question);
    const refused = this.busy ? "Not shown yet: nothing was labelled." : !this.reviewerName ? "Say who reads: your name stands in every label." : step === undefined ? "This turn is a prompt: choose a step." : "";
    if (refused) {
      if (!this.reviewerName && !this.busy) this.name.focus();
      this.#showAnswers();
      this.warn(refused);
      return;
    }
    const row = this.#row(question, step, change);
    this.book.put(row);
    this.#showAnswers();
    this.#labelled();
    if ("value" in change && row.value !== null && question.per === "item" && ["choice", "scale"].includes(question.kind)) this.#advance();
    await this.#save(row, question);
  }

  /** @param {Question} question @param {number | null} step @param {Change} change @returns {Label} */
  #row(question, step, change) {
    const before = this.book.get(this.reviewerName, this.item.id, step, question.id);
    const at = new Date(Math.max(Date.now(), before ? Date.parse(before.at) + 1 : 0)).toISOString();
    return {
      schema: this.index.label_schema, reviewer: this.reviewerName, sample: this.index.sample, item: this.item.id, step,
      span: null, question: question.id, value: null, note: null, ...pick(before ?? {}, ["span", "value", "note"]), ...change, at,
    };
  }

  /** @param {Label} row @param {Question} question */
  async #save(row, question) {
    const what = `${question.id}${row.step === null ? "" : ` of step ${row.step}`}: ${row.value === null ? "no answer" : [row.value].flat().join(", ")}`;
    try {
      const told = await this.host.save(row, this.book);
      this.say(`${shown(what)}. ${told}`);
      this.#labelled();
    } catch (error) {
      this.warn(`Not kept: ${shown(what)}. ${shown(error?.message ?? error)}`);
    }
  }

  /** To the next question about the trajectory that waits for an answer. @param {number} [from] */
  #advance(from = this.questions.active + 1) {
    const { questions } = this.questions;
    const open = (question) => question.per === "item" && question.kind !== "text" && (this.#labelOf(question)?.value ?? null) === null;
    const next = questions.findIndex((question, at) => at >= from && open(question));
    if (next >= 0) this.questions.activate(next);
  }

  /** @param {TurnCell} cell */
  #answers(cell) {
    const { step } = cell.turn;
    if (step === undefined) return 0;
    return this.#answersOf(cell.loaded.item.id).filter((row) => row.step === step).length;
  }

  /** @param {string} item */
  #answersOf(item) {
    const key = `${this.reviewerName}\n${item}`;
    this.known ??= new Map();
    if (!this.known.has(key)) this.known.set(key, this.book.of(this.reviewerName, item));
    return this.known.get(key);
  }

  /** @param {Item} item @returns {"" | "begun" | "done"} */
  #stateOf(item) {
    const answers = this.#answersOf(item.id);
    const required = this.index.rubric.question.filter((question) => question.required);
    const wanted = required.flatMap(({ id, per }) => (per === "item" ? [null] : item.hits ?? []).map((step) => ({ id, step })));
    const answered = ({ id, step }) => answers.some((row) => row.question === id && row.step === step && row.value !== null);
    if (wanted.length && wanted.every(answered)) return "done";
    return answers.length ? (wanted.length ? "begun" : "done") : "";
  }

  /** Redraw what tells of labels. */
  #labelled() {
    this.known = new Map();
    let done = 0;
    this.index.items.forEach((item, at) => {
      const state = this.#stateOf(item);
      if (state === "done") done += 1;
      const sign = { done: "\u2713", begun: "\u25d0", "": "\u25cb" }[state];
      const said = { done: "done", begun: "begun", "": "not read" }[state];
      const one = this.itemButtons[at];
      one.replaceChildren(h("span", { class: `state ${state}`, "aria-hidden": "true" }, sign), h("span", {}, `${at + 1}. ${oneLine(item.title, 60)}`), h("span", { class: "hidden" }, `, ${said}`));
    });
    this.progress.textContent = `${this.place + 1} / ${this.index.items.length} \u00b7 ${done} done`;
    for (const row of this.list.rows) for (const cell of row.cells) cell?.label(this.#answers(cell));
    this.strips.forEach((strip) => strip.draw());
  }

  nextQuestion() { this.#question(1); }
  previousQuestion() { this.#question(-1); }

  /** @param {number} direction */
  #question(direction) {
    this.root.classList.remove("narrow");
    this.questions.activate(this.questions.active + direction);
    this.say(this.questions.question.text);
  }

  focusNote() {
    this.root.classList.remove("narrow");
    this.questions.focusNote();
  }

  withdraw() {
    return this.answer(this.questions.question, { value: null, note: null, span: null });
  }

  attachSpan() {
    const selection = document.getSelection();
    const range = selection?.rangeCount ? selection.getRangeAt(0) : null;
    const view = range && viewOf(range.startContainer);
    const start = view?.offset(range.startContainer, range.startOffset) ?? null;
    const end = view && viewOf(range.endContainer) === view ? view.offset(range.endContainer, range.endOffset) : null;
    if (!view?.part || start === null || end === null || start >= end) {
      this.say("Select text inside one message, command or result first.");
      return undefined;
    }
    const side = this.list.rows.flatMap((row) => row.cells.map((cell, at) => (cell?.views.get(view.part) === view ? at : -1))).find((at) => at >= 0) ?? 0;
    this.list.select(this.list.rowOf(view.part.turn, side), side, { scroll: false, focus: false });
    const { question } = this.questions;
    return this.answer(question, { span: this.loaded[side].span(view.part, start, end, question.per === "step") });
  }

  /** @param {Label[]} rows labels of elsewhere @returns {number} how many of them count */
  take(rows) {
    const items = new Set(this.index.items.map((item) => item.id));
    const taken = rows.filter((row) => items.has(row.item) && this.book.put(row)).length;
    this.#labelled();
    this.#showAnswers();
    return taken;
  }

  // What is said, and keys

  /** @param {string} text */
  say(text) {
    this.status.classList.remove("bad");
    this.status.textContent = text;
  }

  /** @param {string} text */
  warn(text) {
    this.status.classList.add("bad");
    this.status.textContent = text;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {Element} */ (event.target);
    const outside = target !== document.body && !this.root.contains(target);
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || outside || this.help.open) return;
    if (target.closest?.("textarea, select, input:not([type=radio], [type=checkbox])")) {
      if (event.key !== "Escape") return;
      this.list.current?.el.focus({ preventScroll: true });
    } else if (!this.#act(event.key)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string} key @returns {boolean} whether it was for us */
  #act(key) {
    const known = KEYS.find((one) => one.keys.includes(key));
    if (!known) return this.loaded.length > 0 && this.questions.press(key);
    this[known.act]();
    return true;
  }
}

/** @param {any[]} list @param {(one: any) => any} key */
function groupedBy(list, key) {
  const groups = new Map();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

/** @param {Record<string, any>} from @param {string[]} names */
function pick(from, names) {
  return Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
}
