"""Writes the parts of README.md that say what the code holds: ``python tests/readme_tables.py --write``.

Each part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. Without ``--write`` it only says
which parts are out of date, and exits with 1 if any is; ``tests/test_readme.py`` does the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import nbformat

from trajlab.checks import collapse, hacks, tokens
from trajlab.checks.alarm_rules import GATES, RULES, Rule
from trajlab.checks.facts import thresholds
from trajlab.checks.layers import LAYERS
from trajlab.checks.layers.base import Layer
from trajlab.checks.layers.l14_symptoms import ENTRIES
from trajlab.checks.lines import LINE_CHECKS
from trajlab.errors import ExitCode
from trajlab.formats import COMPANIONS, FALLBACK_LOGS, LOGS, companion_format, log_format
from trajlab.formats.checked import CHECKED, KINDS
from trajlab.measures.accuracy import accuracy as judge
from trajlab.measures.accuracy import read_gold
from trajlab.measures.calibration import CALIBRATION
from trajlab.measures.catalogue import MEASURES, Measure
from trajlab.measures.changes import COLLAPSED, COLLAPSIBLE
from trajlab.measures.policy import CRITIC, LAG, MASKS, RATIOS
from trajlab.measures.step_signals import BY_SIGNAL
from trajlab.metric_logs import METRIC_LOGS, metric_format
from trajlab.metric_logs.naming import common_names, spellings
from trajlab.report.audit import NOTEBOOK
from trajlab.report.diagnose import NOTEBOOK as DIAGNOSIS
from trajlab.report.parameters import read_parameters
from trajlab.report.runner import find_notebook
from trajlab.report.terminal import ACCURACY_HEAD, accuracy_rows, without_count
from trajlab.schema import TABLES, TRAJECTORIES

README = Path(__file__).resolve().parents[1] / "README.md"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n)([^\0]*?)(<!-- end -->)")


def cell(text: object) -> str:
    """Text that cannot break out of its table cell, whatever it holds."""
    return str(text).replace("|", "\\|").replace("\n", " ").strip()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n</details>\n"


def formats() -> str:
    logs = [(name, f"`{name}`", log_format(name)) for name in {**LOGS, **FALLBACK_LOGS}]
    companions = [(name, f"`{name}` (companion)", companion_format(name)) for name in COMPANIONS]
    metrics = [(name, f"`{name}` (metric log)", metric_format(name)) for name in METRIC_LOGS]
    return table(
        ["format", "variant", "what it is", "checked against"],
        [
            (title, f"`{variant}`", about.doc, checked_against(name, variant))
            for name, title, module in [*logs, *companions, *metrics]
            for variant, about in module.VARIANTS.items()
        ],
    )


def checked_against(name: str, variant: str) -> str:
    found = CHECKED.get((name, variant))
    if found is None:
        return "–"
    return f"{found.kind}: {found.what}" if found.what else found.kind


def checked_kinds() -> str:
    return table(["checked against", "means"], [(kind, meaning) for kind, meaning in KINDS.items()])


def format_columns() -> str:
    """Which columns of ``trajectories`` each format fills: in all of its variants, or in some."""
    rows = []
    for name in {**LOGS, **FALLBACK_LOGS}:
        variants = log_format(name).VARIANTS
        every = frozenset.intersection(*(about.carries for about in variants.values()))
        some = frozenset.union(*(about.carries for about in variants.values())) - every
        only = [
            f"`{column}` ({', '.join(variant for variant, about in variants.items() if column in about.carries)})"
            for column in TRAJECTORIES.names if column in some
        ]  # fmt: skip
        rows.append((f"`{name}`", " ".join(f"`{c}`" for c in TRAJECTORIES.names if c in every), ", ".join(only)))
    return folded(
        "Columns of <code>trajectories</code> that each format fills", table(["format", "all variants", "some"], rows)
    )


def tables() -> str:
    overview = table(
        ["table", "a row is", "kind", "columns"],
        [(f"`{t.name}`", t.row, t.origin, len(t.columns)) for t in TABLES.values()],
    )
    columns = [
        folded(
            f"Columns of <code>{t.name}</code>",
            table(
                ["column", "type", "unit", "meaning", "null means"],
                [(f"`{c.name}`", c.kind, c.unit, c.doc, c.null or "never null") for c in t.columns],
            ),
        )
        for t in TABLES.values()
    ]
    return overview + "\n" + "\n".join(columns)


def measures() -> str:
    rows = [(f"`{m.name}`", m.title, m.section, _kind(m), m.unit) for m in MEASURES]
    of_tokens = [(RATIOS, "ratio of policies", "tokens"), (CRITIC, "critic", "tokens"),
                 (CALIBRATION, "critic, by group", "tokens"), (MASKS, "loss mask", "tokens")]  # fmt: skip
    rows += [
        (f"`{name}`", title, section, "of sums over training rollouts", unit)
        for titles, section, unit in [*of_tokens, (LAG, "policy lag", "trajectories")]
        for name, title in titles.items()
    ]
    return table(["measure", "title", "section", "kind", "unit"], rows)


def _kind(measure: Measure) -> str:
    return measure.kind if measure.behaviour else f"{measure.kind}, errors included"


def checks() -> str:
    lines = thresholds()
    rows = []
    for check in LINE_CHECKS:
        line = lines[check.threshold]
        side = ">" if check.bad == "high" else "<"
        said = [f"{kind} {side} {line[kind]:g}" for kind in ("warn", "alarm") if kind in line]
        rows.append((f"`{check.code}`", check.title, f"`{check.measure}`", ", ".join(said), f"`{check.threshold}`"))
    watched = ", ".join(f"`{name}`" for name in COLLAPSIBLE)
    rows.append((f"`{collapse.CODE}`", collapse.TITLE, watched, f"alarm < {COLLAPSED:g} of an earlier period", "–"))
    said = [f"{kind} > {lines[hacks.LINE][kind]:g}" for kind in ("warn", "alarm")]
    rows.append((f"`{hacks.CODE}`", hacks.TITLE, "`hack_tier_1_rate`", ", ".join(said), f"`{hacks.LINE}`"))
    for code, title in tokens.CODES.items():
        name = tokens.LINES[code]
        said = [f"{kind} > {lines[name][kind]:g}" for kind in ("warn", "alarm") if kind in lines[name]]
        rows.append((f"`{code}`", title, tokens.LOOKS_AT[code], ", ".join(said), f"`{name}`"))
    return table(["code", "says", "measure", "lines", "name of the line"], rows)


def alarms() -> str:
    lines = thresholds()
    rows = []
    for rule in RULES:
        signal = BY_SIGNAL[rule.signal]
        told = ["collapse" if rule.collapse else "alarm", f"`{rule.threshold}`"]
        rows.append((f"`{rule.code}`", rule.title, f"`{signal.name}`", _line(rule, lines[rule.threshold]), *told))
    return table(["code", "says", "signal", "told where", "kind", "name of the line"], rows)


def alarm_study() -> str:
    """The matrix of the study's last full run, as its own text has it."""
    text = (README.parent / "tests" / "studies" / "alarms.md").read_text("utf-8")
    lines = text.split("```text\n")[1].split("\n```")[0].splitlines()
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S(?:\S| (?! ))*", lines[0])]
    body = [line for line in lines[1:] if "%" in line and not line.startswith(("seed", "false", "from"))]
    cells = [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] for line in body]
    head = ["kind of run", "alarms that count", "told", "from its line: median", "nine of ten", "from onset: alarm",
            "from onset: first warning or alarm"]  # fmt: skip
    return table(head, [[*row[:3], *(cell or "–" for cell in row[4:8])] for row in cells])


def _line(rule: Rule, line: dict[str, object]) -> str:
    side = "above" if rule.high else "below"
    against = {"start": "the first steps", "best": "the best so far", "lowest": "the lowest so far", "none": ""}
    parts = [f"{line['level']:g}"] if "level" in line else []
    if rule.test == "runaway":
        parts = [f"{line['level']:g}, rising on"]
    elif "share" in line and rule.reference != "none":
        parts.append(f"{line['share']:g} times {against[rule.reference]}")
    if "rise" in line:
        parts.append(f"{line['rise']:g} over the first steps")
    said = f"{side} {' and '.join(parts)}"
    if "count" in line:
        said += f", {line['count']} in a row"
    return said + (f", while {GATES[rule.gate][1]}" if rule.gate is not None else "")


def layers() -> str:
    def looks_at(layer: Layer) -> str:
        said = ((check.__doc__ or "").split("\n")[0].rstrip(".") for check in layer.checks)
        return " ".join(text if text.endswith("?") else f"{text}." for text in said)

    rows: list[tuple[object, ...]] = [(layer.code, layer.title, layer.question, looks_at(layer)) for layer in LAYERS]
    symptoms = f"{len(ENTRIES)} symptoms, each with cause and action, against the findings of the other layers."
    rows.append(("L14", "Symptom, cause, action", "Which known symptoms does the run show?", symptoms))
    order = "Every alarm and warning in the order to look at them; which signal moved first."
    rows.append(("L15", "Order of investigation", "Where to look first?", order))
    return table(["layer", "", "asks", "looks at"], rows)


def diagnosis_parameters() -> str:
    return parameters(DIAGNOSIS)


def parameters(name: str = NOTEBOOK) -> str:
    notebook = nbformat.read(find_notebook(name), as_version=4)
    return table(
        ["parameter", "type", "default", "meaning"],
        [
            (f"`{p.name}`", f"`{p.annotation}`", f"`{p.default!r}`", p.help)
            for p in read_parameters(notebook, name)
            if p.name not in ("corpus", "metrics", "run")
        ],
    )


def metric_names() -> str:
    spelled: dict[str, list[str]] = {name: [] for name in common_names()}
    for trainer, names in spellings().items():
        for name in dict.fromkeys(names.values()):
            for own in spelled if "*" in name else [name] if name else []:
                if own in spelled and (own == name or name.replace("*", "") == own.rpartition(".")[0] + "."):
                    spelled[own].append(trainer)
    rows = [
        (f"`{n.name}`", n.layer or "–", n.unit, n.doc, ", ".join(dict.fromkeys(spelled[n.name])) or "–")
        for n in common_names().values()
    ]
    return folded("Common names of metrics", table(["name", "layer", "unit", "meaning", "known of"], rows))


def exit_codes() -> str:
    meaning = {
        ExitCode.PASSED: "passed",
        ExitCode.GATE_FAILED: "a gate failed or is inconclusive (`--fail-on` says what counts)",
        ExitCode.USAGE: "usage: an unknown option or parameter, nothing to read",
        ExitCode.NOTEBOOK: "the audit notebook raised, ended early or left no result",
        ExitCode.INFRASTRUCTURE: "infrastructure: a full disk, a killed process, a time limit, an interrupt",
    }
    return table(["code", "meaning"], [(int(code), meaning[code]) for code in ExitCode])


def accuracy() -> str:
    found = judge(read_gold(README.parent / "data_samples" / "gold" / "commands.jsonl"))
    rows = [(f"`{name}`", *cells) for name, *cells in accuracy_rows(found)]
    wrong = ", ".join(f"{' + '.join(c.gold)} taken for {' + '.join(c.found)} ({c.count})" for c in found.confusions)
    said = f"Exact label set: {found.exact}. Micro F1: {without_count(found.micro_f1)}."
    return table(ACCURACY_HEAD, rows) + f"\n{said} Confusions: {wrong or 'none'}.\n"


PARTS: dict[str, Callable[[], str]] = {
    "formats": formats,
    "checked_kinds": checked_kinds,
    "format_columns": format_columns,
    "tables": tables,
    "measures": measures,
    "checks": checks,
    "alarms": alarms,
    "alarm_study": alarm_study,
    "parameters": parameters,
    "layers": layers,
    "diagnosis_parameters": diagnosis_parameters,
    "metric_names": metric_names,
    "exit_codes": exit_codes,
    "accuracy": accuracy,
}


def regenerated(text: str) -> str:
    """The README with every generated part as the code says now."""
    found = [match[2] for match in _PART.finditer(text)]
    if sorted(found) != sorted(PARTS):
        raise ValueError(f"README.md has the generated parts {sorted(found)}, expected {sorted(PARTS)}")
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match[2]]()}\n{match[4]}", text)


def stale(text: str) -> list[str]:
    """Names of the parts that differ from what the code says."""
    now = {match[2]: match[3] for match in _PART.finditer(regenerated(text))}
    return [match[2] for match in _PART.finditer(text) if match[3] != now[match[2]]]


def main(arguments: list[str]) -> int:
    text = README.read_text("utf-8")
    if "--write" in arguments:
        README.write_text(regenerated(text), "utf-8")
        return 0
    names = stale(text)
    print("README.md is current" if not names else f"out of date: {', '.join(names)}")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
