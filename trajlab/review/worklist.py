"""Which trajectories are read: those of a sample's manifest, or a simple random draw."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trajlab.corpus.corpus import Corpus
from trajlab.corpus.rows import digest
from trajlab.errors import UsageError, read_named
from trajlab.review.designs import sample as draw


class Listed(msgspec.Struct, omit_defaults=True):
    """One trajectory of a sample; other fields of a manifest are passed over."""

    trajectory_id: str
    probability: float | None = None
    """Probability with which it was drawn."""
    stratum: str | None = None


class Worklist(msgspec.Struct):
    """A sample to read: its identity, under which labels are kept, and its trajectories in order."""

    id: str
    items: list[Listed]
    seed: int | None = None
    frame: Any = None
    """What it was drawn from: a size, or more."""

    @property
    def ids(self) -> list[str]:
        """Identities of the trajectories."""
        return [item.trajectory_id for item in self.items]


def worklist(corpus: Corpus, sample: object = None, *, n: int = 20, seed: int = 0) -> Worklist:
    """Return what is to be read.

    Args:
        corpus: The corpus.
        sample: A manifest: a JSON file, what it holds, or an object with its fields (``id``, ``items`` with
            ``trajectory_id``, ``probability``, ``stratum``). ``None``: a simple random draw, without re-runs
            and duplicates.
        n: Trajectories drawn; fewer where there are fewer.
        seed: Seed of the draw.

    Raises:
        UsageError: The manifest cannot be read or is none, or there is nothing to draw from.
    """
    if isinstance(sample, Worklist):
        return sample
    return _manifest(draw(corpus, n, seed=seed, at_least=0) if sample is None else sample)


def shuffled(work: Worklist) -> Worklist:
    """Return a worklist whose order tells nothing of strata: by the digest of the sample and the trajectory."""
    items = sorted(work.items, key=lambda item: digest(f"{work.id} {item.trajectory_id}"))
    return msgspec.structs.replace(work, items=items)


def _manifest(sample: object) -> Worklist:
    expected = "a sample's manifest: id, and items with trajectory_id"
    place = str(sample) if isinstance(sample, str | Path) else type(sample).__name__
    try:
        if isinstance(sample, str | Path):
            work = msgspec.json.decode(read_named(Path(sample)), type=Worklist)
        else:
            data = sample if isinstance(sample, Mapping) else msgspec.to_builtins(sample)
            work = msgspec.convert(data, Worklist, strict=False)
    except OSError as error:
        raise UsageError(place, error.strerror or str(error), expected, "Check the path") from None
    except (msgspec.DecodeError, TypeError) as error:
        raise UsageError(place, str(error), expected, "Take the file that the sample wrote") from None
    if not work.items:
        raise UsageError(place, "no items", "at least one trajectory", "Draw a sample that is not empty")
    if len(set(work.ids)) < len(work.ids):
        raise UsageError(place, "a trajectory twice", "each trajectory once", "Take the file that the sample wrote")
    return work
