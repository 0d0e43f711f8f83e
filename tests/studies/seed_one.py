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

from seed_figures import Figure, audited, claims, compared, figures, simulated

from trajlab.report.written.audit_report import audit_report
from trajlab.report.written.document import to_markdown


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def line(item: Figure) -> str:
    verdict = "ok" if item.ok else "MISSED"
    measured = f"{number(item.audit):>10} {number(item.comparison):>10}"
    return f"{item.section:>4} {item.run:6} {item.name:28} {item.printed:>8} {measured}  {verdict}"


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
