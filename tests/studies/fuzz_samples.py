"""The sample logs of the fuzzing study, and the mutant of a number: which sample is broken, and in which way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

import archive_mutants
import mutants
import table_mutants
import text_mutants
from chance import Chance
from corpora_in_tests import SAMPLES, sample_files, shared_folder

from trajlab.corpus.plan import Claim, claim
from trajlab.formats import log_format
from trajlab.sources.files import SourceFile
from trajlab.sources.probe import Probe

_SHARED = (
    "written/trainers/verl",
    "written/mini_swe_agent_2.4.6",
    "public/SWE-agent+mini-swe-agent",
    "public/SWE-bench+SWE-smith",
)
_LARGEST = 400_000
MOST_BESIDE = 40
FAMILIES = {
    ".jsonl": "JSON lines", ".json": "JSON", ".traj": "JSON", ".eval": "zip", ".zip": "zip", ".pt": "torch",
    ".parquet": "Parquet", ".yaml": "YAML", ".csv": "CSV", ".0": "event file", ".log": "text", ".txt": "text",
    ".gz": "compressed", ".xz": "compressed", ".zst": "compressed",
}  # fmt: skip
OF_A_FAMILY: dict[str, Callable[[bytes, Chance], bytes]] = {
    "JSON": mutants.change_json,
    "zip": archive_mutants.change_archive,
    "torch": archive_mutants.change_torch,
    "YAML": text_mutants.change_yaml,
    "CSV": table_mutants.change_csv,
    "event file": table_mutants.change_events,
    "text": text_mutants.change_console,
}


Beside = tuple[tuple[str, bytes], ...]
"""Names and bytes of the other files of a conversation."""


@dataclass(frozen=True)
class Sample:
    """A log to break; what is known of it is found out when it is asked for."""

    name: str
    """The path it is read under, below ``root``."""
    root: Path

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.root / self.name

    @cached_property
    def data(self) -> bytes:
        """Its bytes."""
        return self.path.read_bytes()

    @property
    def family(self) -> str:
        """What its bytes are: JSON lines, JSON, zip …"""
        return FAMILIES[PurePosixPath(self.name).suffix]

    @property
    def group(self) -> str:
        """Its format; of metric logs, the layout."""
        parts = self.name.split("/")
        return "/".join(parts[:2]) if parts[0] == "metric_logs" else parts[0]

    @cached_property
    def claimed(self) -> Claim:
        """What the planner makes of it."""
        found = self.path.stat()
        return claim(SourceFile(str(self.root), self.name, str(self.path), found.st_size, found.st_mtime_ns), None)

    @cached_property
    def by_record(self) -> bool:
        """Each of its lines, elements or members is a record of its own, not a piece of one conversation."""
        found = self.claimed
        if found.role == "metrics":
            return self.family == "JSON lines"
        whole = found.role != "log" or log_format(found.format or "").VARIANTS[found.variant or ""].whole
        if found.format == "harbor_traces":  # rows are episodes of a trial, and one row tells what the next adds
            return False
        return not whole and not found.group and Probe(found.file).shape in ("lines", "list", "zip")

    @cached_property
    def beside(self) -> Beside:
        """The other files of its conversation."""
        if not self.claimed.group:
            return ()
        near = [other for other in sorted(self.path.parent.rglob("*")) if other.is_file() and other != self.path]
        return tuple((other.relative_to(self.root).as_posix(), other.read_bytes()) for other in near[:MOST_BESIDE])


@dataclass
class Mutant:
    """What is read, and what of the sample is still in it unbroken."""

    name: str
    data: bytes
    kinds: tuple[str, ...]
    sample: Sample
    intact: list[bytes] = field(default_factory=list)
    """Lines that are as they were."""
    original: bytes = b""
    """The sample as it is read for comparison."""
    broken: int = 0
    """Elements or members that are broken, where all others are as they were."""


def samples(*, shared: bool = True) -> list[Sample]:
    """Every sample log; those beside the repository, too, where they are."""
    found = [Sample(name, SAMPLES) for name in sample_files()]
    folder = shared_folder() if shared else None
    if folder is not None:
        root = folder / "samples"
        paths = [path for place in _SHARED for path in sorted((root / place).rglob("*.json*"))]
        sizes = [path.stat().st_size for path in paths]
        kept = [path for path, size in zip(paths, sizes, strict=True) if size <= _LARGEST]
        found += [Sample(path.relative_to(root).as_posix(), root) for path in kept]
    return found


def make_mutant(all_samples: list[Sample], seed: int, number: int) -> Mutant:
    """The mutant of that number; one in twelve stands under a hostile path."""
    rng = Chance(seed * 1_000_003 + number)
    # Every format as often as any other, and in it what its files are, however many files its samples have.
    groups = sorted({sample.group for sample in all_samples})
    own = [sample for sample in all_samples if sample.group == groups[number % len(groups)]]
    family = rng.choice(sorted({sample.family for sample in own}))
    sample = rng.choice([sample for sample in own if sample.family == family])
    mutant = _mutant_of(sample, all_samples, rng)
    if rng.random() < 1 / 12:
        mutant.name, mutant.intact, mutant.broken = mutants.hostile_path(mutant.name, rng), [], 0
    mutant.kinds = tuple(rng.kinds)
    return mutant


def _mutant_of(sample: Sample, all_samples: list[Sample], rng: Chance) -> Mutant:
    if sample.family in ("JSON lines", "compressed") and rng.random() < 0.6:
        return _broken_lines(sample, all_samples, rng)
    if sample.by_record and sample.family == "JSON" and rng.random() < 0.3:
        return _broken_element(sample, rng)
    if sample.by_record and sample.name.endswith(".eval") and rng.random() < 0.3:
        return _broken_member(sample, rng)
    if sample.family == "Parquet" and rng.random() < 0.6:
        table = table_mutants.as_parquet(table_mutants.rows_of_parquet(sample.data), rng)
        return Mutant(sample.name, table or mutants.change_bytes(sample.data, rng), (), sample)
    if sample.family in OF_A_FAMILY and rng.random() < 0.6:
        return Mutant(sample.name, OF_A_FAMILY[sample.family](sample.data, rng), (), sample)
    return _changed(sample, all_samples, rng)


def _changed(sample: Sample, all_samples: list[Sample], rng: Chance) -> Mutant:
    """In a way that any bytes can be changed."""
    choices = ["bytes", "bytes", "recode", "compress", "splice", "bomb"]
    if sample.by_record and sample.family == "JSON lines":
        choices.append("parquet")
    how = rng.choice(choices)
    name = sample.name
    if how == "compress":
        data, name = mutants.compress(sample.data, rng), name + rng.choice(("", ".gz", ".zst"))
    elif how == "bomb":
        data, name = mutants.packed_bomb(sample.data, rng), name + rng.choice(("", ".gz"))
    elif how == "splice":
        other = rng.choice(all_samples).data
        at, start = rng.randrange(len(sample.data) + 1), rng.randrange(len(other) + 1)
        data = rng.told("spliced", sample.data[:at] + other[start:])
    elif how == "parquet" and (table := table_mutants.as_parquet(table_mutants.rows_of_lines(sample.data), rng)):
        data, name = table, name.replace(".jsonl", ".parquet")
    elif how == "recode":
        data = mutants.recode(sample.data, rng)
    else:
        data = mutants.change_bytes(sample.data, rng)
    return Mutant(name, data, (), sample)


def _broken_lines(sample: Sample, all_samples: list[Sample], rng: Chance) -> Mutant:
    """Some lines broken or put in between; the first record of the file stays, which tells its format."""
    suffix = PurePosixPath(sample.name).suffix
    original = mutants.unpacked(sample.data, suffix) if sample.family == "compressed" else sample.data
    lines = [line for line in original.split(b"\n") if line]
    # What is mostly no row of metrics is no log of metrics.
    most = min((len(lines) - 1) // 2, 2) if sample.claimed.role == "metrics" else len(lines) - 1
    broken = set(rng.sample(range(1, len(lines)), min(most, rng.randint(1, 3)))) if most > 0 else set()
    out: list[bytes] = []
    intact: list[bytes] = []
    for number, line in enumerate(lines):
        kind = rng.randrange(4) if number in broken else None
        if kind is None or kind == 1:
            intact.append(line)
            out.append(line)
        if kind == 0:
            out.append(mutants.change_bytes(line, rng).replace(b"\n", b" "))
        elif kind == 1:
            out.append(rng.told("spliced", rng.choice(all_samples).data[:3000].replace(b"\n", b" ")))
        elif kind is not None:
            out.append(mutants.change_json(line, rng).replace(b"\n", b" "))
    data = b"\n".join(out) + rng.choice((b"\n", b""))
    if sample.family == "compressed":
        data = rng.told("compressed", mutants.PACKERS[suffix](data))
    return Mutant(sample.name, data, (), sample, intact if sample.by_record else [], original)


def _broken_element(sample: Sample, rng: Chance) -> Mutant:
    """One element of a list broken, but not so that it holds a bracket more or less."""
    elements = [json.dumps(element).encode() for element in json.loads(sample.data)]
    original = b"[" + b", ".join(elements) + b"]"
    number = rng.randrange(len(elements))
    literal = rng.choice(mutants.HOSTILE_LITERALS[:12]).encode()
    if rng.random() < 0.5:
        elements[number] = rng.told("wrong type", literal)
    else:
        broken = mutants.change_value({"element": json.loads(elements[number])}, rng)
        elements[number] = json.dumps(broken.get("element")).encode()
    return Mutant(sample.name, b"[" + b", ".join(elements) + b"]", (), sample, [], original, broken=1)


def _broken_member(sample: Sample, rng: Chance) -> Mutant:
    """One sample of an Inspect archive broken; the others are as they were."""
    members = archive_mutants.members_of(sample.data)
    own = [number for number, (name, _) in enumerate(members) if name.startswith("samples/")]
    if not own:
        return Mutant(sample.name, mutants.change_bytes(sample.data, rng), (), sample)
    number = rng.choice(own)
    changed = rng.choice((mutants.change_bytes, mutants.change_json))
    members[number] = (members[number][0], changed(members[number][1], rng))
    method = rng.choice(archive_mutants.METHODS[:2])
    return Mutant(sample.name, archive_mutants.zipped(members, method), (), sample, [], sample.data, broken=1)
