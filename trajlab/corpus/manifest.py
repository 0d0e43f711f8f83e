"""The corpus on disk: its manifest, written whole or not at all, and its lock."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trajlab import __version__
from trajlab.behavior.derive import RULES_VERSION
from trajlab.corpus.field_sample import SampledFields
from trajlab.corpus.parts import Unit
from trajlab.corpus.plan import Claim
from trajlab.errors import InfrastructureError, UsageError
from trajlab.records import Problem
from trajlab.schema import SCHEMA_VERSION
from trajlab.sources.field_mapping import FieldMapping

MANIFEST = "trajlab-corpus.json"
_LOCK = ".lock"


class FoundProblem(msgspec.Struct):
    """A problem met while looking for files."""

    source: str
    problem: Problem
    run: str | None = None


class Manifest(msgspec.Struct):
    """What a corpus was planned from and how far it came."""

    schema_version: int = SCHEMA_VERSION
    trajlab: str = __version__
    complete: bool = False
    claims: list[Claim] = []
    units: list[Unit] = []
    problems: list[FoundProblem] = []
    mapping: FieldMapping | None = None
    """The user's own mapping that it was read by."""
    fields: list[SampledFields] = []
    """What a sample of the logs tells of their fields."""
    rules: str = ""
    """Version of the behaviour rules that the derived tables follow."""
    assembled_from: str = ""
    """Digest of all that the assembled tables depend on."""
    assembled: dict[str, int] = {}
    """Bytes of every assembled table: where one is missing or cut short, all are written again."""


def load_manifest(folder: Path) -> Manifest | None:
    """The manifest of a corpus folder; ``None`` where there is none or it is of another schema."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (ValueError, msgspec.MsgspecError, RecursionError):  # damaged, or not UTF-8
        return None
    return manifest if manifest.schema_version == SCHEMA_VERSION else None


def require_manifest(folder: Path, *, any_rules: bool = False) -> Manifest:
    """The manifest of a finished corpus.

    Args:
        folder: Corpus folder.
        any_rules: Its derived tables may follow other rules than this version's.

    Raises:
        UsageError: No corpus, one whose ingest did not finish, or one of other behaviour rules.
    """
    manifest = load_manifest(folder)
    if manifest is None:
        raise UsageError(str(folder), "no corpus", f"a folder with {MANIFEST}", "Run trajlab ingest first")
    if not manifest.complete:
        raise UsageError(str(folder), "an unfinished ingest", "a finished one", "Run the same ingest again: it resumes")
    if not any_rules and manifest.rules != RULES_VERSION:
        found = f"behaviour by the rules {manifest.rules or 'of an earlier version'}"
        raise UsageError(str(folder), found, f"the rules {RULES_VERSION}", f"Run trajlab rebuild {folder}")
    return manifest


def save_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest; a killed process leaves the old one or the new one."""
    write_whole(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file aside and put it in place in one move."""
    aside = path.with_name(f".wip-{path.name}")
    with aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the corpus; the system frees the lock when the process dies.

    Raises:
        InfrastructureError: Another process holds it.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with (folder / _LOCK).open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InfrastructureError(
                str(folder), "another ingest is running here", "", "Wait for it, or choose another folder"
            ) from error
        yield
