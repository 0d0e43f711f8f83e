"""Caches of what is said of a text: short texts come again, long ones would only fill the memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

LONGEST_CACHED = 20_000
"""Characters: five hundred texts of this length are 10 MB, whatever a log holds."""

Others = ParamSpec("Others")
Result = TypeVar("Result")
OfText = Callable[Concatenate[str, Others], Result]


def cached_by_text(maxsize: int) -> Callable[[OfText[Others, Result]], OfText[Others, Result]]:
    """As ``functools.lru_cache``, for a pure function of a text; what it says of a long one is not kept.

    Args:
        maxsize: Texts kept.
    """

    def decorate(function: OfText[Others, Result]) -> OfText[Others, Result]:
        kept = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: str, /, *args: Others.args, **kwargs: Others.kwargs) -> Result:
            if len(text) > LONGEST_CACHED:
                return function(text, *args, **kwargs)
            return kept(text, *args, **kwargs)  # type: ignore[arg-type]

        return call

    return decorate
