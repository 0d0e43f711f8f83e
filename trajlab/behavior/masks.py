"""Labels of the codebook as one integer, a bit for each, and back."""

from __future__ import annotations

from functools import lru_cache

from trajlab.schema import LABELS


@lru_cache(maxsize=1024)
def mask_of(labels: frozenset[str]) -> int:
    """Labels as one integer, a bit for each in the order of the codebook."""
    return sum(1 << position for position, label in enumerate(LABELS) if label in labels)


@lru_cache(maxsize=1024)
def labels_in(mask: int) -> frozenset[str]:
    """Labels of a mask."""
    return frozenset(label for position, label in enumerate(LABELS) if mask >> position & 1)
