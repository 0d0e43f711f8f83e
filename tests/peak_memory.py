"""The greatest resident memory of this process alone."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """Let the mark begin anew at what is held now, where the kernel can do that."""
    if _CLEAR.exists():
        with suppress(OSError):
            _CLEAR.write_text("5")


def peak_memory() -> int:
    """In bytes.

    ``ru_maxrss`` counts what the process that started this one held when it forked, so a child of a large test
    worker seems large; the kernel's own mark of the address space begins anew with the program.
    """
    if _STATUS.exists():
        kilobytes = next(line.split()[1] for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(kilobytes) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
