"""The greatest resident memory of this process alone."""

from __future__ import annotations

import ctypes
import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def forget_peak() -> int:
    """Let the mark begin anew, where the kernel can do that, at what is held now; that, in bytes.

    What the allocators keep of memory that was freed is given back first: of thousands of corpora read in one process
    it tells nothing of the next.
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc
        trim(0)
    if _CLEAR.exists():
        with suppress(OSError):
            _CLEAR.write_text("5")
    return peak_memory()


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
