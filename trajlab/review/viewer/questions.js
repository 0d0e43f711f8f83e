// The questions of the rubric, answered by hand or by key.

/** @typedef {{value?: Label["value"], note?: string | null, span?: [number, number] | null}} Change */

class Questions {
  /**
   * @param {{name: string, question: Question[]}} rubric
   * @param {{answer: (question: Question, change: Change) => void, activate: (question: Question) => void}} hooks
   */
  constructor(rubric, hooks) {
    this.questions = rubric.question;
    this.hooks = hooks;
    this.active = 0;
    /** @type {Map<string, {el: HTMLElement, inputs: HTMLInputElement[], text: HTMLTextAreaElement | null, note: HTMLTextAreaElement, span: HTMLElement}>} */
    this.fields = new Map();
    this.el = h("form", { class: "questions", "aria-label": "Questions", onsubmit: (event) => event.preventDefault() });
    this.el.append(...this.questions.map((question, at) => this.#field(question, at)));
    this.activate(0);
  }

  /** @returns {Question} */
  get question() {
    return this.questions[this.active];
  }

  /** @param {number} at */
  activate(at) {
    this.active = (at + this.questions.length) % this.questions.length;
    this.questions.forEach((question, number) => {
      const { el } = this.fields.get(question.id);
      el.classList.toggle("active", number === this.active);
      if (number === this.active) el.setAttribute("aria-current", "true");
      else el.removeAttribute("aria-current");
    });
    this.fields.get(this.question.id).el.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }

  /** @param {Question} question @param {number} at */
  #field(question, at) {
    const { inputs, text, shownAs } = this.#answers(question, at);
    const note = this.#area(question, "Note", (value) => this.hooks.answer(question, { note: value }));
    const span = h("span", { class: "span" });
    const per = question.per === "step" ? "for the selected step" : "for the trajectory";
    const el = h(
      "fieldset",
      { onfocusin: () => this.active !== at && this.activate(at) },
      h("legend", {}, question.text, question.required ? h("abbr", { title: "required", class: "required" }, " *") : null),
      h("p", { class: "per" }, per),
      shownAs,
      h("div", { class: "more" }, note, span),
    );
    this.fields.set(question.id, { el, inputs, text, note, span });
    return el;
  }

  /** @param {Question} question @param {number} at */
  #answers(question, at) {
    if (question.kind === "text") {
      const text = this.#area(question, "Answer", (value) => this.hooks.answer(question, { value }));
      return { inputs: [], text, shownAs: text };
    }
    const group = uniqueId("question");
    const options = question.kind === "scale" ? scaleOptions(question) : question.choice;
    const type = question.kind === "multi" ? "checkbox" : "radio";
    const inputs = options.map((option) => /** @type {HTMLInputElement} */ (
      h("input", { type, name: group, value: option.value, onchange: () => this.#changed(question, at) })));
    const labels = options.map((option, number) =>
      h("label", {}, inputs[number], option.key ? kbd(option.key) : null, h("span", {}, option.label)));
    return { inputs, text: null, shownAs: h("div", { class: `options ${question.kind}` }, ...labels) };
  }

  /** @param {Question} question @param {string} name @param {(value: string | null) => void} save */
  #area(question, name, save) {
    return /** @type {HTMLTextAreaElement} */ (h("textarea", {
      rows: name === "Note" ? 1 : 3, placeholder: name, "aria-label": `${name}: ${question.text}`,
      onchange: (event) => save(event.target.value.trim() || null),
    }));
  }

  /** @param {Question} question @param {number} at */
  #changed(question, at) {
    this.activate(at);
    this.hooks.answer(question, { value: this.#chosen(question) });
  }

  /** @param {Question} question @returns {Label["value"]} */
  #chosen(question) {
    const chosen = this.fields.get(question.id).inputs.filter((input) => input.checked).map((input) => input.value);
    if (question.kind === "multi") return chosen.length ? chosen : null;
    if (!chosen.length) return null;
    return question.kind === "scale" ? Number(chosen[0]) : chosen[0];
  }

  /** @param {string} key @returns {boolean} whether it answers the active question */
  press(key) {
    const { question } = this;
    const options = question.kind === "scale" ? scaleOptions(question) : question.choice ?? [];
    const at = options.findIndex((option) => option.key === key);
    if (at < 0 || question.kind === "text") return false;
    const { inputs } = this.fields.get(question.id);
    inputs[at].checked = question.kind === "multi" ? !inputs[at].checked : true;
    this.hooks.answer(question, { value: this.#chosen(question) });
    return true;
  }

  /** The field for the note of the active question, or for its answer in words. */
  focusNote() {
    const { note, text } = this.fields.get(this.question.id);
    (text ?? note).focus();
  }

  /** @param {(question: Question) => Label | undefined} labelOf */
  show(labelOf) {
    for (const question of this.questions) {
      const { el, inputs, text, note, span } = this.fields.get(question.id);
      const label = labelOf(question);
      const values = [label?.value ?? []].flat().map(String);
      inputs.forEach((input) => (input.checked = values.includes(input.value)));
      if (text) text.value = typeof label?.value === "string" ? label.value : "";
      note.value = label?.note ?? "";
      span.textContent = label?.span ? `span ${label.span[0]}\u2013${label.span[1]}` : "";
      el.classList.toggle("answered", label !== undefined && label.value !== null);
    }
  }
}

/** @param {Question} question @returns {{value: string, label: string, key: string}[]} */
function scaleOptions({ low, high }) {
  return Array.from({ length: high - low + 1 }, (_, n) => {
    const value = String(low + n);
    return { value, label: value, key: value.length === 1 ? value : "" };
  });
}
