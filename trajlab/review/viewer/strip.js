// The action pattern of a trajectory as a strip: a column for each turn, to look at, to click and to walk along.

/** Width of a column from which its letter is written into it. */
const LETTER_WIDTH = 11;
const STRIP_HEIGHT = 42;
const MARK_HEIGHT = 12;

class Strip {
  /**
   * @param {TurnList} list @param {number} side
   * @param {{pick: (row: number) => void, labelled: (cell: TurnCell) => boolean}} hooks
   */
  constructor(list, side, hooks) {
    this.list = list;
    this.side = side;
    this.hooks = hooks;
    this.matched = new Set();
    this.picture = document.createElement("canvas");
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
    this.probe = h("i", { hidden: true });
    this.el = h("div", {
      class: "strip", role: "slider", tabindex: "0", "aria-label": "Timeline of the turns", "aria-valuemin": "1",
      onkeydown: (event) => this.#key(event), onclick: (event) => this.#click(event),
    }, this.canvas, this.probe);
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.el);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.scheme.addEventListener("change", this.redraw);
  }

  remove() {
    this.resize.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    this.el.remove();
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * this.list.rows.length);
    this.#pick(at);
  }

  /** The nearest row with a turn on this side. @param {number} at */
  #pick(at) {
    const { rows } = this.list;
    for (let away = 0; away < rows.length; away += 1) {
      const near = [at - away, at + away].find((row) => rows[row]?.cells[this.side]);
      if (near !== undefined) return this.hooks.pick(near);
    }
    return undefined;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = Math.max(0, Math.min(this.list.rows.length - 1, this.list.row + move));
    this.#pick(at);
    this.el.focus();
  }

  /** @param {string} name of a custom property @returns {string} the colour it has now */
  #colour(name) {
    this.probe.style.color = `var(${name})`;
    return getComputedStyle(this.probe).color;
  }

  #colours() {
    const names = ["ink", "muted", "bad", "hit", "accent", "match", "surface"];
    const found = Object.fromEntries(names.map((name) => [name, this.#colour(`--${name}`)]));
    /** @type {Map<string, string>} */
    const kinds = new Map();
    const kind = (letter) => {
      if (!kinds.has(letter)) kinds.set(letter, this.#colour(KIND_COLOURS[letter] ?? "--k-other"));
      return kinds.get(letter);
    };
    return { ...found, kind };
  }

  /** Draw it anew; the selected turn alone needs only `point`. */
  draw() {
    const width = this.el.clientWidth;
    const scale = devicePixelRatio || 1;
    if (!width) return;
    this.picture.width = width * scale;
    this.picture.height = (STRIP_HEIGHT + MARK_HEIGHT) * scale;
    const pen = /** @type {CanvasRenderingContext2D} */ (this.picture.getContext("2d"));
    pen.scale(scale, scale);
    const colours = this.#colours();
    this.ink = colours.ink;
    const column = width / Math.max(1, this.list.rows.length);
    this.list.rows.forEach((row, at) => {
      const cell = row.cells[this.side];
      if (cell) this.#column(pen, colours, cell, at, column);
    });
    this.point();
  }

  /** Put the frame around the selected turn. */
  point() {
    const { width, height } = this.picture;
    this.canvas.width = width;
    this.canvas.height = height;
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    if (width) pen.drawImage(this.picture, 0, 0);
    const scale = devicePixelRatio || 1;
    pen.scale(scale, scale);
    this.#now(pen, width / scale / Math.max(1, this.list.rows.length));
    this.#say();
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} colours @param {TurnCell} cell */
  #column(pen, colours, cell, at, column) {
    const letter = kindOf(cell.turn);
    const height = Math.min(STRIP_HEIGHT, 10 + Math.log10(1 + cell.chars) * 6.5);
    const gap = column > 4 ? 1 : 0;
    pen.fillStyle = colours.kind(letter);
    pen.fillRect(at * column, STRIP_HEIGHT - height, Math.max(0.5, column - gap), height);
    if (column >= LETTER_WIDTH) {
      pen.fillStyle = colours.surface;
      pen.font = "600 10px ui-monospace, monospace";
      pen.textAlign = "center";
      pen.fillText(letter, at * column + column / 2, STRIP_HEIGHT - 3);
    }
    this.#marks(pen, colours, cell, at * column, Math.max(1.5, column - gap));
  }

  #marks(pen, colours, cell, left, width) {
    const mark = (colour, top) => {
      pen.fillStyle = colour;
      pen.fillRect(left, STRIP_HEIGHT + top, Math.min(width, 6), 2.5);
    };
    if (LANDMARKS.error(cell.turn)) mark(colours.bad, 1.5);
    if (LANDMARKS.hit(cell.turn)) mark(colours.hit, 5);
    if (this.hooks.labelled(cell)) mark(colours.accent, 8.5);
    if (!this.matched.has(cell.number)) return;
    pen.fillStyle = colours.match;
    pen.fillRect(left, 0, Math.max(1.5, Math.min(width, 6)), 4);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} column */
  #now(pen, column) {
    if (this.list.side !== this.side) return;
    pen.strokeStyle = this.ink;
    pen.lineWidth = 2;
    pen.strokeRect(this.list.row * column, 1, Math.max(2, column - 1), STRIP_HEIGHT + MARK_HEIGHT - 2);
  }

  #say() {
    const cell = this.list.rows[this.list.row]?.cells[this.side];
    this.el.setAttribute("aria-valuemax", String(this.list.rows.length));
    this.el.setAttribute("aria-valuenow", String(this.list.row + 1));
    const kind = cell ? this.list.kinds[kindOf(cell.turn)] ?? "other" : "no turn";
    this.el.setAttribute("aria-valuetext", cell ? `turn ${cell.number + 1}, ${kind}` : kind);
  }
}

/** Colours go by what the kinds have in common; the letter tells them apart. @type {Record<string, string>} */
const KIND_COLOURS = {
  Z: "--k-submit", T: "--k-test", E: "--k-edit", F: "--k-edit", X: "--k-run", I: "--k-run", C: "--k-test", N: "--k-setup",
  V: "--k-setup", R: "--k-look", S: "--k-look", O: "--k-other", K: "--k-think", "!": "--k-bad", "?": "--k-bad",
  M: "--k-message", P: "--k-prompt",
};
