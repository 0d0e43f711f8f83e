// What is known of a trajectory beside its text; in blind mode none of it is in the data.

/** @param {unknown} value */
function factText(value) {
  if (value === true || value === false) return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? thousands(value) : String(Number(value.toPrecision(4)));
  return shown(value);
}

/** @param {Record<string, unknown>} facts @param {Record<string, string>} docs */
function factList(facts, docs) {
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  const missing = Object.keys(facts).filter((name) => facts[name] === null);
  const rows = known.map(([name, value]) =>
    h("div", { title: docs[name] ?? null }, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, factText(value))));
  const note = missing.length ? h("p", { class: "note" }, `Not recorded: ${missing.map((name) => name.replaceAll("_", " ")).join(", ")}.`) : null;
  return [rows.length ? h("dl", {}, ...rows) : null, note];
}

/** @param {Record<string, unknown>[]} rewards */
function rewardTable(rewards) {
  const head = ["part", "value", "weight", "step"].map((name) => h("th", { scope: "col" }, name));
  const rows = rewards.map((part) => {
    const cells = [part.value, part.weight, part.applied_step].map((value) => h("td", {}, value === null ? "\u2013" : factText(value)));
    return h("tr", {}, h("th", { scope: "row" }, shown(part.name)), ...cells);
  });
  return h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
}

/** @param {Loaded} loaded @param {(turn: number) => void} jump */
function hitList(loaded, jump) {
  const hits = loaded.turns.flatMap((turn, at) => (turn.calls ?? []).flatMap((call) => (call.hits ?? []).map((hit) => ({ hit, at, turn }))));
  if (!hits.length) return h("p", { class: "note" }, "No candidate of the hack screen.");
  const rows = hits.map(({ hit, at, turn }) => h("li", {}, button(`step ${turn.step}: ${ruleName(hit.rule)}`, () => jump(at), { class: "link", title: hit.title || null }), ` tier ${hit.tier}`));
  return h("ul", { class: "hits" }, ...rows);
}

/**
 * @param {Loaded} loaded @param {{blind: boolean, docs: Record<string, string>}} index @param {(turn: number) => void} jump
 * @returns {HTMLElement}
 */
function factsView(loaded, index, jump) {
  const { item } = loaded;
  const el = h("section", { class: "facts", "aria-label": "Facts" });
  if (index.blind) {
    el.append(h("p", { class: "note" }, "Blind: what graders and rules said is not in this page."));
    return el;
  }
  const groups = item.facts ?? {};
  for (const name of Object.keys(groups)) {
    const behaviour = name === "behaviour";
    el.append(fold(name, name === "outcome", ...factList(groups[name], index.docs).filter(Boolean)));
    if (name === "outcome" && item.rewards?.length) el.append(fold("reward parts", true, rewardTable(item.rewards)));
    if (behaviour) el.append(fold("hack candidates", true, hitList(loaded, jump)));
  }
  const drawn = { stratum: item.stratum ?? null, probability: item.probability ?? null };
  el.append(fold("sample", false, ...factList(drawn, { probability: "with which it was drawn" }).filter(Boolean)));
  return el;
}
