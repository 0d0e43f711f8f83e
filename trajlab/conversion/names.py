"""Names of files and folders for runs and tasks: plain ones, in any script, and no two runs under one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from trajlab.corpus.rows import digest

_LONGEST = 80
_MOST_BYTES = 150
"""A file name may have 255 bytes; what stands around the name needs the rest."""
_PROBE = ".\u00e9\u4e2d\u0e01.wip"


def takes_all_letters(folder: Path) -> bool:
    """Whether a file in a folder may have letters of any script in its name."""
    try:
        probe = folder / _PROBE
        probe.touch()
        probe.unlink()
    except (OSError, UnicodeEncodeError):
        return False
    return True


def plain_name(name: str, *, all_letters: bool = True) -> str:
    """A name that is one plain file name: letters and digits, ``.``, ``_`` and ``-``; other signs are one ``_``.

    Args:
        name: Any text.
        all_letters: Letters of any script stay; else those beyond ASCII are written by their number.
    """
    letters = "".join(map(_plain, unicodedata.normalize("NFC", name)))
    if not all_letters:
        letters = "".join(letter if letter.isascii() else f"u{ord(letter):04x}" for letter in letters)
    short = re.sub(" +", "_", letters).strip("._")[:_LONGEST].encode()[:_MOST_BYTES].decode(errors="ignore")
    return short or "unnamed"


def _plain(letter: str) -> str:
    # Marks belong to the letter before them: without them, words of many scripts would fall apart.
    return letter if letter in "._-" or unicodedata.category(letter)[0] in "LMN" else " "


class RunNames:
    """Gives each run a name of its own; names that differ in case only are one on some file systems."""

    def __init__(self, taken: Iterable[str], *, all_letters: bool) -> None:
        self._taken = {name.casefold() for name in taken}
        self._all_letters = all_letters
        self._names: dict[str, str] = {}

    def of(self, run: str) -> str:
        """The name of a run; the first that wants one has it, another gets the digest of its own name added."""
        found = self._names.get(run)
        if found is None:
            found = plain_name(run, all_letters=self._all_letters)
            while found.casefold() in self._taken:
                found = f"{found}-{digest(run)}"
            self._taken.add(found.casefold())
            self._names[run] = found
        return found
