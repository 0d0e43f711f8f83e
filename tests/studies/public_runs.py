"""The alarms on public metric logs whose classes and onsets a person read by eye.

    python tests/studies/public_runs.py [FOLDER] [--pictures DIR] [--figure PNG]

FOLDER holds ``verdicts.tsv`` (path, class, onset_step …) and the logs it names; default: ``metric_logs`` of the shared
samples. The verdicts are a guide, not truth. Held against them:

- *collapsed*: a collapse alarm no later than 10 logged rows after the onset
- *healthy*, *plateaued*: no collapse alarm
- *unstable*: an excursion of KL, or any alarm
- *starved*: the finding on group signal (A022)
- *proxy_only*: reward without outcome (A015, A023 or A024)

``--pictures`` draws every log as it is, for a person to read; ``--figure`` draws what disagrees as a schematic: medians
of nine steps, every fifth of them, as a share of the range, and our own statistic as a share of its limit. No log can
be read back from it.

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
import numpy as np
import polars as pl

import trajlab
from trajlab.checks.alarm_rules import BY_CODE, FLAGS, Rule
from trajlab.checks.alarm_tests import FLAG_RUN_LENGTH, told_of_flags
from trajlab.checks.alarm_tests import told as told_of
from trajlab.checks.alarms import Alarm, alarms, aligned, series_of
from trajlab.checks.facts import thresholds
from trajlab.measures.step_signals import step_signals

ROWS = 10
OUTCOMES = ("score.part.f", "score.part.correctness_f", "score.part.correctness_reward_func", "score.part.check_answer",
            "score.part.correct")  # fmt: skip
SOUND = ("healthy", "plateaued")
PROXY = {"A015", "A023", "A024"}
SHOWN = ("score", "entropy", "kl", "response_tokens", "flat_batch", "zero_std_groups", "flat_loss")


def main() -> None:
    shared = Path(os.environ.get("TRAJLAB_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=shared / "samples" / "metric_logs")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    with (given.folder / "verdicts.tsv").open(encoding="utf-8") as file:
        verdicts = list(csv.DictReader(file, delimiter="\t"))
    agreed: dict[str, list[bool]] = {}
    odd: list[tuple[str, str, pl.DataFrame, list[Alarm], str | None]] = []
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
        loud = any(item.status == "alarm" for item in told)
        if not agrees or (loud and verdict["class"] in SOUND) or (
            verdict["class"] == "starved" and any(item.is_collapse for item in told)
        ):  # fmt: skip
            odd.append((name_of(verdict), verdict["class"], signals, told, outcome))
    for name, found in agreed.items():
        print(f"{name:10} {sum(found)} of {len(found)} agree")
    if given.figure is not None:
        schematic(given.figure, odd)


def name_of(verdict: dict[str, str]) -> str:
    """Short name of a log: its file, or the folder of a file that is named like every other."""
    path = Path(verdict["path"])
    return path.parent.name if path.stem in ("metrics", "trainer_state") else path.stem


def schematic(path: Path, odd: Sequence[tuple[str, str, pl.DataFrame, list[Alarm], str | None]]) -> None:
    """What disagrees with the verdicts: smoothed and thinned series, marks of the alarms, statistic of the test."""
    figure, axes = plt.subplots(2, len(odd), figsize=(3.4 * len(odd), 4.2), sharex="col", squeeze=False)
    for place, (name, verdict, signals, told, outcome) in enumerate(odd):
        top, bottom = axes[0, place], axes[1, place]
        collapsing = [item.signal for item in told if item.is_collapse]
        for signal in dict.fromkeys(["score", *([outcome] if outcome else []), *collapsing]):
            one = signals.filter(pl.col("signal") == signal).sort("step")
            smooth = one["value"].rolling_median(9, min_samples=5).to_numpy()
            span = float(np.ptp(one["value"].to_numpy())) or 1.0
            name_shown = signal.removeprefix("score.part.")
            top.plot(one["step"][4::5], ((smooth - smooth[4]) / span)[4::5], lw=1.2, label=name_shown)
        alarmed = [item for item in told if item.first_step is not None and item.status == "alarm"]
        for number, item in enumerate(alarmed):
            top.axvline(item.first_step, color="red", lw=0.8)
            top.text(
                item.first_step, 0.98 - 0.09 * number, item.finding.code, transform=top.get_xaxis_transform(),
                fontsize=7, va="top",
            )  # fmt: skip
        for rule in (BY_CODE[code] for code in ("A009", "A015", "A023")):
            steps, share = statistic_of(rule, signals, outcome)
            if len(steps):
                bottom.plot(steps, share, lw=1, label=rule.code)
        bottom.axhline(1, color="grey", ls=":")
        bottom.set_ylim(0, 2.1)
        top.set_title(f"{name}\n({verdict} by eye)", fontsize=8)
        top.legend(fontsize=6)
        bottom.legend(fontsize=6)
        bottom.set_xlabel("step", fontsize=7)
    axes[0, 0].set_ylabel("change, as a share of the range", fontsize=7)
    axes[1, 0].set_ylabel("statistic / limit", fontsize=7)
    figure.savefig(path, dpi=76, bbox_inches="tight")
    plt.close(figure)


def statistic_of(rule: Rule, signals: pl.DataFrame, outcome: str | None) -> tuple[list[int], np.ndarray]:
    """Steps at which a rule's signal is observed and its statistic there, as a share of what raises the alarm."""
    series = series_of(signals)
    name = next((name for name in (rule.signal, *rule.instead) if name in series), "")
    if not name or (rule.gate == "outcome_flat" and outcome is None):
        return [], np.empty(0)
    own, lines = series[name], thresholds()[rule.threshold]
    others = aligned(own, series, outcome)
    if name in FLAGS:
        return own.steps, told_of_flags(rule, own.values[None, :], others).statistic[0] / np.log(FLAG_RUN_LENGTH)
    return own.steps, told_of(rule, lines, own.values[None, :], others).statistic[0] / rule.limit


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
