"""R1 to R5 simulated at full size: does an audit, and a comparison, recover the figures of the first report?

    python tests/studies/seed_one.py [--scale 1.0] [--seed 0] [--all] [--out DIR]

Prints every figure that is missed (``--all``: every figure) as section, run, name, printed, audit, comparison, ok; then
what the pages say of collapse, epochs and the report's own contradictions. ``--out`` keeps the runs and writes the
reports in both languages there. Exits with 1 if a figure is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seed_figures import Figure, audited, compared, figures, simulated

from trajlab.measures.changes import changes_of
from trajlab.measures.symptoms import symptoms
from trajlab.report.written.audit_report import audit_report
from trajlab.report.written.document import to_markdown


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def line(item: Figure) -> str:
    verdict = "ok" if item.ok else "MISSED"
    measured = f"{number(item.audit):>10} {number(item.comparison):>10}"
    return f"{item.section:>4} {item.run:6} {item.name:28} {item.printed:>8} {measured}  {verdict}"


def claims(comparison) -> list[tuple[str, bool]]:
    """What the reports must say, whatever the first report claims."""
    sides = {side.name: side for side in comparison.comparison.sides}
    changes = {name: changes_of(side.trajectories) for name, side in sides.items()}
    shown = {name: {s.key for s in symptoms(side.estimate, side.score) if s.shown} for name, side in sides.items()}
    onsets = {name: [c.onset for c in own.collapses] for name, own in changes.items()}
    cuts = {name: side.score.epoch_starts != side.rollout_starts for name, side in sides.items()}
    said = to_markdown(comparison.document)
    return [
        ("R3 collapsed, onset in E2", onsets["R3"] == ["epoch 2"]),
        ("no other run collapsed", not any(onsets[name] for name in ("R1", "R2", "R4", "R5"))),
        ("cuts of scores and rollouts disagree in R3, R4, R5 only", [n for n in cuts if cuts[n]] == ["R3", "R4", "R5"]),
        ("the report says so", all(f"{n}: scores and rollouts are cut" in said for n in ("R3", "R4", "R5"))),
        ("R4 is not monotone", sides["R4"].score.monotone is False),
        ("R4's zero share is under its line", "zero_reward_heavy" not in shown["R4"]),
        ("few_succeed is shown by R1 and R3 only", [n for n in shown if "few_succeed" in shown[n]] == ["R1", "R3"]),
        ("one_step_heavy and tool_use_low are shown by R1 and R3 only",
         all([n for n in shown if key in shown[n]] == ["R1", "R3"] for key in ("one_step_heavy", "tool_use_low"))),
        ("no change of score is attributable", not any(c.attributable for c in comparison.comparison.contributions)),
        ("identities hold", all(a == b for s in sides.values() for t in s.quadrants for _, a, b in t.identities)),
    ]  # fmt: skip


def write_reports(out: Path, corpus, runs) -> None:
    for language in ("en", "zh"):
        document = compared(corpus, runs, language).document
        (out / f"compare.{language}.md").write_text(to_markdown(document), encoding="utf-8")
        for name, run in runs.items():
            text = to_markdown(audit_report(audited(corpus, name, run), language))
            (out / f"{name}.{language}.md").write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        corpus, runs = simulated(out, given.scale, given.seed)
        comparison = compared(corpus, runs)
        found = list(figures(corpus, runs, comparison))
        for item in found:
            if given.all or not item.ok:
                print(line(item))
        missed = sum(not item.ok for item in found)
        print(f"{len(found) - missed} of {len(found)} figures recovered, {time.perf_counter() - began:.0f} s")
        said = claims(comparison)
        for text, holds in said:
            print(f"{'ok    ' if holds else 'MISSED'} {text}")
        if given.out:
            write_reports(out, corpus, runs)
    return 1 if missed or not all(holds for _, holds in said) else 0


if __name__ == "__main__":
    sys.exit(main())
