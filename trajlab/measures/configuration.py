"""What a run was configured with: settings its logs hold, else a ``config.yaml`` that lies beside them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.corpus.of_run import rows_of_run
from trajlab.errors import read_named

CONFIG_NAMES = ("config.yaml", "config.yml")
LARGEST = 1_000_000
"""Bytes a configuration file may have; a larger one is not read."""

SHORT_NAMES: dict[str, str] = {
    "actor_rollout_ref.actor.optim.lr": "lr",
    "trainer.total_epochs": "epochs",
    "data.train_batch_size": "batch_size",
    "actor_rollout_ref.actor.kl_loss_coef": "kl_coef",
    "actor_rollout_ref.rollout.multi_turn.max_assistant_turns": "agent_steps",
    "actor_rollout_ref.rollout.n": "generations",
    "actor_rollout_ref.rollout.temperature": "temperature",
    "actor_rollout_ref.actor.entropy_coeff": "entropy_coeff",
    "actor_rollout_ref.actor.ppo_mini_batch_size": "mini_batch",
}
"""verl's options by the short names that reports use, in their order."""

LABELS_ONLY = ("experiment_name", "project_name", "run_name", "default_local_dir", "rollout_data_dir", "output_dir",
               "validation_data_dir", "logger", "trainer.name", "log_path", "wandb_name", "wandb_project")  # fmt: skip
"""Last parts of options that name a run or its places and change nothing about it."""


class Configuration(msgspec.Struct):
    """Settings of one run by dotted name; values as texts, numbers in one spelling."""

    settings: dict[str, str]
    source: str | None
    """Where they were read; ``None``: not observed."""
    varied: dict[str, list[str]]
    """Settings that have several values within the run."""
    skipped: int = 0
    """Lines of the file that this reader does not understand."""

    @property
    def observed(self) -> bool:
        """Whether anything was read."""
        return bool(self.settings)


def configuration(corpus: Corpus, run: str) -> Configuration:
    """Settings of a run: the table ``run_config`` where it has any, else the nearest ``config.yaml``.

    A file is one that the ingest saw in the run's own folder or above it (a row of ``sources``); it is opened again
    here, so a corpus whose logs are gone has none. A setting with several values in one run is left out of
    ``settings`` and told in ``varied``.
    """
    rows = corpus.run_config.filter(pl.col("run") == run).select("name", "configured", "applied").collect()
    if rows.height:
        return _from_table(rows)
    file = _file(corpus, run)
    if file is None:
        return Configuration({}, None, {})
    place, text = file
    options, skipped = read_options(text)
    return Configuration({name: options[name] for name in sorted(options)}, place, {}, skipped)


def _from_table(rows: pl.DataFrame) -> Configuration:
    values: dict[str, list[str]] = {}
    for name, configured, applied in rows.iter_rows():
        said = plain(applied if applied is not None else configured)
        if said not in values.setdefault(name, []):
            values[name].append(said)
    one = {name: own[0] for name, own in sorted(values.items()) if len(own) == 1}
    return Configuration(one, "logs", {name: own for name, own in sorted(values.items()) if len(own) > 1})


def _file(corpus: Corpus, run: str) -> tuple[str, str] | None:
    """Path and text of the configuration nearest to the run's logs."""
    everything = corpus.sources.collect()
    own = rows_of_run(corpus, corpus.sources, run)
    logs = own.filter((pl.col("role") == "log") | ((pl.col("role") == "metrics") & (pl.col("run") == run)))
    # A run of which there is only a metric log is named for that log, the files beside it for their folder.
    sources = own if (logs["role"] == "log").any() else everything
    folders = {folder for log in logs["source"] for folder in PurePosixPath(log).parents}
    rest = sources.filter(pl.col("role") != "log").select("root", "source", "bytes").unique().sort("source")
    found = [
        (root, source)
        for root, source, size in rest.iter_rows()
        if PurePosixPath(source).name in CONFIG_NAMES and PurePosixPath(source).parent in folders and size <= LARGEST
    ]
    for root, source in sorted(found, key=lambda item: (-item[1].count("/"), item[1])):
        try:
            return source, read_named(Path(root) / source).decode()
        except (OSError, UnicodeDecodeError):
            continue
    return None


def read_options(text: str) -> tuple[dict[str, str], int]:
    """Dotted options of a YAML mapping, and how many lines were not understood.

    Understood are nested mappings of plain scalars by indentation, as trainers write them. Lists, anchors, block texts
    and everything else of YAML is counted and left out, with what is nested in it.
    """
    options: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    skipped, closed = 0, -1
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped == "---":
            continue
        depth = len(line) - len(line.lstrip(" "))
        if closed >= 0 and (depth > closed or (depth == closed and stripped.startswith("-"))):
            skipped += 1
            continue
        closed = -1
        name, colon, value = stripped.partition(":")
        name, value = name.strip().strip("\"'"), _uncommented(value.strip())
        plain_name = bool(name) and name[0] not in "-[{&*!|>%@`"
        if not colon or not plain_name or value[:1] in ("&", "*", "|", ">", "!", "[", "{"):
            skipped += 1
            closed = depth
            continue
        while path and path[-1][0] >= depth:
            path.pop()
        if value:
            options[".".join([*(part for _, part in path), name])] = plain(value)
        else:
            path.append((depth, name))
    return options, skipped


def _uncommented(value: str) -> str:
    return value if value[:1] in ("'", '"') else value.partition(" #")[0].strip()


def plain(value: str | None) -> str:
    """A value in one spelling: ``5e-07`` and ``0.0000005`` are the same number."""
    if value is None:
        return "null"
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if not text or not (text[0].isdigit() or text[0] in "+-."):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def short(name: str) -> str:
    """The name that reports use."""
    return SHORT_NAMES.get(name, name)


def changed(one: Configuration, other: Configuration) -> dict[str, tuple[str | None, str | None]] | None:
    """Settings that differ, by name, names of runs and places left out; ``None`` where a side is not observed.

    A setting that only one side has is listed with ``None`` for the other. What varies within both runs, as an image
    for each task does, is no setting of a run and left out; what varies within one only is listed.
    """
    if not one.observed or not other.observed:
        return None
    found = {}
    for name in ordered({*one.settings, *other.settings, *one.varied, *other.varied}):
        labels = any(name == label or name.endswith(f".{label}") for label in LABELS_ONLY)
        if labels or (name in one.varied and name in other.varied):
            continue
        pair = (_value(one, name), _value(other, name))
        if pair[0] != pair[1]:
            found[name] = pair
    return found


def _value(configuration: Configuration, name: str) -> str | None:
    several = configuration.varied.get(name)
    return f"{len(several)} values" if several else configuration.settings.get(name)


def ordered(names: set[str]) -> list[str]:
    """The names that reports use first, in their order, then the rest by name."""
    known = list(SHORT_NAMES)
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))
