"""The alarms on public metric logs whose classes and onsets a person read by eye.

    python tests/studies/public_runs.py [FOLDER] [--pictures DIR]

FOLDER holds ``verdicts.tsv`` (path, class, onset_step …) and the logs it names; default: ``metric_logs`` of the shared
samples. The verdicts are a guide, not truth. Held against them:

- *collapsed*: a collapse alarm no later than 10 logged rows after the onset
- *healthy*, *plateaued*: no collapse alarm
- *unstable*: an excursion of KL, or any alarm
- *starved*: the finding on group signal (A022)
- *proxy_only*: reward without outcome (A015, A023 or A024)

The outcome, where a log has one, is the component of the reward that is named below; logs do not say which it is.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl

import trajlab
from trajlab.checks.alarms import Alarm, alarms
from trajlab.measures.step_signals import step_signals

ROWS = 10
OUTCOMES = ("score.part.f", "score.part.correctness_f", "score.part.correctness_reward_func", "score.part.check_answer",
            "score.part.correct")  # fmt: skip
PROXY = {"A015", "A023", "A024"}
SHOWN = ("score", "entropy", "kl", "response_tokens", "flat_batch", "zero_std_groups", "flat_loss")


def main() -> None:
    shared = Path(os.environ.get("TRAJLAB_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=shared / "samples" / "metric_logs")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    with (given.folder / "verdicts.tsv").open(encoding="utf-8") as file:
        verdicts = list(csv.DictReader(file, delimiter="\t"))
    agreed: dict[str, list[bool]] = {}
    for number, verdict in enumerate(verdicts, start=1):
        signals = read(given.folder / verdict["path"])
        names = set(signals["signal"].unique())
        outcome = next((name for name in OUTCOMES if name in names), None)
        told = [item for item in alarms(signals, outcome=outcome) if item.status in ("alarm", "warn")]
        agrees, why = judge(verdict, told, sorted(signals["step"].unique().to_list()))
        agreed.setdefault(verdict["class"], []).append(agrees)
        verdict_said = f"{verdict['class']:10} onset {verdict['onset_step']:>3}"
        place = "/".join(Path(verdict["path"]).parts[-3:])
        print(f"{number:2} {'agrees   ' if agrees else 'DISAGREES'} {verdict_said}  {place}\n     {why}")
        for item in told:
            kind = "collapse" if item.is_collapse else item.status
            print(f"     {kind:8} {item.finding.code} at {item.first_step}: {item.finding.message}")
        if given.pictures is not None:
            draw(given.pictures / f"{number:02}.png", verdict, signals, told)
    for name, found in agreed.items():
        print(f"{name:10} {sum(found)} of {len(found)} agree")


def read(log: Path) -> pl.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        return step_signals(trajlab.ingest(log, out=Path(folder) / "corpus", run=log.stem, texts=False))


def judge(verdict: dict[str, str], told: Sequence[Alarm], steps: Sequence[int]) -> tuple[bool, str]:
    """Whether alarms and verdict agree, and by what."""
    collapses = [item for item in told if item.is_collapse and item.first_step is not None]
    first = min(collapses, key=lambda item: item.first_step or 0, default=None)
    said = "no collapse alarm" if first is None else f"{first.finding.code} at step {first.first_step}"
    match verdict["class"]:
        case "collapsed":
            onset = sum(step < int(verdict["onset_step"]) for step in steps)
            late = None if first is None else steps.index(first.first_step or 0) - onset
            return late is not None and late <= ROWS, f"{said}, {late} rows after the onset"
        case "unstable":
            odd = [item for item in told if item.status == "alarm" or item.finding.code == "A010"]
            return bool(odd), ", ".join(item.finding.code for item in odd) or "nothing told"
        case "starved":
            found = [item for item in told if item.finding.code == "A022"]
            return bool(found), f"A022 {found[0].status} at {found[0].first_step}" if found else "no A022"
        case "proxy_only":
            hacks = [item for item in told if item.finding.code in PROXY and item.status == "alarm"]
            return bool(hacks), ", ".join(f"{item.finding.code} at {item.first_step}" for item in hacks) or "not told"
        case _:
            return first is None, said


def draw(path: Path, verdict: dict[str, str], signals: pl.DataFrame, told: Sequence[Alarm]) -> None:
    names = [name for name in SHOWN if name in set(signals["signal"])]
    names += sorted(name for name in set(signals["signal"]) if name in OUTCOMES)
    figure, axes = plt.subplots(len(names), 1, figsize=(9, 1.5 * len(names) + 0.6), sharex=True, squeeze=False)
    for axis, name in zip(axes[:, 0], names, strict=True):
        one = signals.filter(pl.col("signal") == name).sort("step")
        axis.plot(one["step"], one["value"], lw=1)
        axis.set_ylabel(name, fontsize=7)
        if verdict["onset_step"].isdigit():
            axis.axvline(int(verdict["onset_step"]), color="grey", ls=":")
        for item in told:
            if item.first_step is not None and item.signal == name:
                axis.axvline(item.first_step, color="red" if item.status == "alarm" else "orange", lw=0.8)
                axis.text(item.first_step, axis.get_ylim()[1], item.finding.code, fontsize=6, va="top")
    axes[0, 0].set_title(f"{verdict['class']}: {verdict['read_by_eye'][:100]}", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    main()
