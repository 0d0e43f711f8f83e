// Keys: one table for what they do and for what the help says.

/** @typedef {{keys: string[], says: string, act: string, group: string}} KeyHelp */

/** `act` is a method of the reviewer. A capital letter goes the other way. @type {KeyHelp[]} */
const KEYS = [
  { group: "Turns", keys: ["j"], says: "next turn", act: "nextTurn" },
  { group: "Turns", keys: ["k"], says: "previous turn", act: "previousTurn" },
  { group: "Turns", keys: ["g"], says: "first turn", act: "firstTurn" },
  { group: "Turns", keys: ["G"], says: "last turn", act: "lastTurn" },
  { group: "Turns", keys: ["o"], says: "open all that is folded in the turn; again: fold", act: "toggleTurn" },
  { group: "Jumps", keys: ["e"], says: "next edit (E: previous)", act: "nextEdit" },
  { group: "Jumps", keys: ["E"], says: "", act: "previousEdit" },
  { group: "Jumps", keys: ["t"], says: "next test run (T: previous)", act: "nextTest" },
  { group: "Jumps", keys: ["T"], says: "", act: "previousTest" },
  { group: "Jumps", keys: ["x"], says: "next error (X: previous)", act: "nextError" },
  { group: "Jumps", keys: ["X"], says: "", act: "previousError" },
  { group: "Jumps", keys: ["h"], says: "next hit of a rule, in the next trajectory too (H: previous)", act: "nextHit" },
  { group: "Jumps", keys: ["H"], says: "", act: "previousHit" },
  { group: "Search", keys: ["/"], says: "search; capitals make case count", act: "focusSearch" },
  { group: "Search", keys: ["n"], says: "next match (N: previous)", act: "nextMatch" },
  { group: "Search", keys: ["N"], says: "", act: "previousMatch" },
  { group: "Trajectories", keys: ["]"], says: "next trajectory", act: "nextItem" },
  { group: "Trajectories", keys: ["["], says: "previous trajectory", act: "previousItem" },
  { group: "Trajectories", keys: ["i"], says: "list of trajectories", act: "focusItems" },
  { group: "Trajectories", keys: ["c"], says: "beside another attempt; again: alone", act: "toggleCompare" },
  { group: "Trajectories", keys: ["w"], says: "the other side", act: "otherSide" },
  { group: "Labels", keys: ["q"], says: "next question (Q: previous)", act: "nextQuestion" },
  { group: "Labels", keys: ["Q"], says: "", act: "previousQuestion" },
  { group: "Labels", keys: ["m"], says: "note, or answer in words; Escape leaves the field", act: "focusNote" },
  { group: "Labels", keys: ["s"], says: "attach the selected text", act: "attachSpan" },
  { group: "Labels", keys: ["u"], says: "withdraw the answer", act: "withdraw" },
  { group: "View", keys: ["b"], says: "side panels", act: "togglePanels" },
  { group: "View", keys: ["?"], says: "this help", act: "openHelp" },
];

/** @param {Record<string, string>} kinds @returns {HTMLDialogElement} */
function helpDialog(kinds) {
  const groups = [...new Set(KEYS.map((key) => key.group))];
  const sections = groups.map((group) => {
    const rows = KEYS.filter((key) => key.group === group && key.says)
      .map((key) => h("div", {}, h("dt", {}, ...key.keys.map(kbd)), h("dd", {}, key.says)));
    return h("section", {}, h("h3", {}, group), h("dl", {}, ...rows));
  });
  const answers = h("p", {}, "The keys beside the choices answer the question that is marked.");
  const letters = h("p", { class: "letters" }, ...Object.entries(kinds).flatMap(([letter, name]) => [h("span", { class: "kind", "data-kind": letter }, h("b", {}, letter), ` ${name}`), " "]));
  const title = uniqueId("help");
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { class: "help", "aria-labelledby": title }));
  const close = button("Close", () => dialog.close(), { autofocus: true });
  dialog.append(h("h2", { id: title }, "Keys"), h("div", { class: "groups" }, ...sections), answers, h("h3", {}, "Kinds of turns"), letters, close);
  return dialog;
}
