"""Writes ``trajlab/formats/known_fields.json``: which fields of the samples are read, format by format.

``python tests/read_fields.py --write`` (a few minutes: each field of each sample is changed and read again). Without
``--write`` it only says which formats are out of date; ``tests/test_fields.py`` does the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from corpora_in_tests import SAMPLES

from trajlab.corpus.fields import Fields, fields_of
from trajlab.corpus.plan import claim
from trajlab.formats import COMPANIONS, FALLBACK_LOGS, LOGS
from trajlab.metric_logs import METRIC_LOGS
from trajlab.sources.discover import discover
from trajlab.sources.files import SourceFile

KNOWN = Path(__file__).resolve().parents[1] / "trajlab" / "formats" / "known_fields.json"
FORMATS = (*LOGS, *FALLBACK_LOGS)
"""Formats whose fields coverage tells."""
ALL = (*FORMATS, *COMPANIONS, *METRIC_LOGS)


def samples_by_format() -> dict[str, list[SourceFile]]:
    found: dict[str, list[SourceFile]] = {}
    for file in discover([SAMPLES]).files:
        if file.relpath.partition("/")[0] not in ("scripts", "gold"):
            found.setdefault(claim(file, None).format or "", []).append(file)
    return found


def fields_of_samples(files: list[SourceFile]) -> list[Fields]:
    """Of each file; what the reader was seen to read in one is not tried again in the next."""
    found: list[Fields] = []
    known: frozenset[str] = frozenset()
    for file in files:
        if (fields := fields_of(file, known=known)) is not None:
            found.append(fields)
            known |= frozenset(fields.read)
    return found


def main(arguments: list[str]) -> int:
    files = samples_by_format()
    looked = {name: fields_of_samples(files[name]) for name in FORMATS}
    now = {name: sorted({field for fields in own for field in fields.read}) for name, own in looked.items()}
    if "--write" in arguments:
        KNOWN.write_text(json.dumps(now, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    stale = [name for name in FORMATS if known.get(name) != now[name]]
    print("known_fields.json is current" if not stale else f"out of date: {', '.join(stale)}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
