// Where the reviewer runs: a page that keeps labels itself, or a widget whose labels a kernel keeps.

/** Milliseconds a kernel has for an answer. */
const KERNEL_PATIENCE = 15000;

/** The one HTML file. @param {Document} page @returns {Reviewer} */
function openPage(page) {
  const read = (name) => JSON.parse(page.getElementById(`trajlab-${name}`).textContent);
  /** @type {Index} */
  const index = read("index");
  const storage = new BrowserStorage(index.sample, index.label_schema);
  page.title = `${index.items.length} trajectories to read \u00b7 trajlab`;
  const lost = "This browser keeps no labels for this page (storage is off or full): export them before you close it.";
  const reviewer = new Reviewer(page.getElementById("trajlab-review"), {
    index,
    keys: page,
    reviewer: index.reviewer ?? storage.reviewer,
    labels: storage.load(),
    warning: storage.works ? "" : lost,
    load: (place) => unpackAll(read(`item-${place}`).map(fromBase64)),
    save: async (row, book) => {
      if (storage.save(book)) return "Kept in this browser.";
      reviewer.warning.hidden = false;
      reviewer.warning.textContent = lost;
      throw new Error("Storage is off or full: export the labels.");
    },
    nameReviewer: (name) => (storage.reviewer = name),
    tools: (self) => [button("Export", () => exportLabels(self), { title: "labels as JSON lines" }), importButton(self, storage)],
  });
  page.defaultView.addEventListener("storage", (event) => event.key === storage.name && reviewer.take(storage.load()));
  page.defaultView.addEventListener("pagehide", () => page.activeElement?.blur?.());
  page.defaultView.addEventListener("beforeunload", (event) => !storage.works && reviewer.book.rows.size && event.preventDefault());
  return reviewer;
}

/** @param {Reviewer} reviewer */
function exportLabels(reviewer) {
  const rows = reviewer.book.rows.size;
  const url = URL.createObjectURL(new Blob([reviewer.book.toJsonl()], { type: "application/x-ndjson" }));
  const who = reviewer.reviewerName.replace(/[^\w.-]+/g, "_") || "nobody";
  h("a", { href: url, download: `labels-${reviewer.index.sample.replace(/[^\w.-]+/g, "_")}-${who}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  reviewer.say(`${counted(rows, "label")} exported.`);
}

/** @param {Reviewer} reviewer @param {BrowserStorage} storage */
function importButton(reviewer, storage) {
  const file = /** @type {HTMLInputElement} */ (h("input", { type: "file", accept: ".jsonl,.json,.txt", hidden: true, "aria-label": "Labels to import", onchange: async () => {
    const text = await file.files[0].text();
    file.value = "";
    const { rows, broken, foreign } = parseLabels(text, reviewer.index.label_schema, reviewer.index.sample);
    const taken = reviewer.take(rows);
    const kept = storage.save(reviewer.book);
    const rest = [[broken, "no label"], [foreign, "of another sample"], [rows.length - taken, "not newer, or of no trajectory here"]];
    const said = rest.filter(([count]) => count).map(([count, why]) => `${thousands(count)} ${why}`).join("; ");
    const message = `${counted(taken, "label")} imported${said ? `; passed over: ${said}` : ""}.`;
    if (kept) reviewer.say(message);
    else reviewer.warn(`${message} This browser does not keep them.`);
  } }));
  return h("span", {}, button("Import", () => file.click(), { title: "labels from JSON lines" }), file);
}

/** Questions to a kernel and its answers. */
class Kernel {
  /** @param {any} model of anywidget */
  constructor(model) {
    this.model = model;
    this.number = 0;
    /** @type {Map<number, {resolve: Function, reject: Function, timer: any}>} */
    this.waiting = new Map();
    this.heard = (message, buffers) => this.#heard(message, buffers);
    model.on("msg:custom", this.heard);
  }

  close() {
    this.model.off("msg:custom", this.heard);
  }

  /** @param {Record<string, unknown>} message @returns {Promise<{message: any, buffers: DataView[]}>} */
  ask(message) {
    this.number += 1;
    // Views of one widget hear each other's answers: their numbers must differ.
    const number = Math.floor(Math.random() * 2 ** 40) * 1000 + (this.number % 1000);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(number);
        reject(new Error("The kernel does not answer: is it running? Run the cell again."));
      }, KERNEL_PATIENCE);
      this.waiting.set(number, { resolve, reject, timer });
      this.model.send({ ...message, number });
    });
  }

  #heard(message, buffers) {
    const asked = this.waiting.get(message.number);
    if (!asked) {
      if (message.kind === "saved") this.onlabel?.(message.row);
      return;
    }
    clearTimeout(asked.timer);
    this.waiting.delete(message.number);
    if (message.kind === "refused") asked.reject(new Error(message.why));
    else asked.resolve({ message, buffers });
  }
}

/** The widget. @param {{model: any, el: HTMLElement}} place @returns {() => void} what takes it down */
function render({ model, el }) {
  const index = model.get("index");
  const kernel = new Kernel(model);
  const root = h("div", {});
  el.append(root);
  const reviewer = new Reviewer(root, {
    index,
    keys: root,
    reviewer: index.reviewer ?? "",
    labels: [],
    warning: index.warning,
    load: async (place) => unpackAll((await kernel.ask({ kind: "item", item: index.items[place].id })).buffers),
    save: async (row) => (await kernel.ask({ kind: "label", row })).message.told,
  });
  kernel.onlabel = (row) => reviewer.take([row]);
  kernel.ask({ kind: "labels" }).then(({ message }) => reviewer.take(message.rows), (error) => reviewer.warn(error.message));
  return () => {
    kernel.close();
    reviewer.remove();
  };
}

export { openPage };
export default { render };
