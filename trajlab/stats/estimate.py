"""What every statistic returns: a value with its interval, its denominator and what was not observed."""

from __future__ import annotations

import math

import msgspec
from msgspec.structs import force_setattr

NOT_OBSERVED = "not observed"
TOO_LARGE = "beyond what a float can hold"


class Estimate(msgspec.Struct, frozen=True):
    """One number with everything needed to trust it or not.

    ``None`` means *not known*: an estimate over nothing has ``value=None``, ``denominator=0`` and the
    method ``not observed``; an estimate whose interval cannot be given has ``low`` or ``high`` ``None``
    and a method that says why.
    """

    value: float | None
    low: float | None
    """Lower end of the interval; ``None`` where the data cannot bound it."""
    high: float | None
    """Upper end of the interval; ``None`` where the data cannot bound it."""
    numerator: float | None
    denominator: float | None
    """Units the value speaks of; for a ratio the sum of its denominators."""
    method: str
    """How the interval was made, in short words."""
    clusters: int | None = None
    """Tasks the interval was clustered or paired by; ``None`` where there was no clustering."""
    missing: int = 0
    """Units where the thing was not observed; they are in neither numerator nor denominator."""

    def __post_init__(self) -> None:
        """Sums of hostile numbers overflow: what is not finite is not known, and the method says why."""
        if self.value is not None and not math.isfinite(self.value):
            force_setattr(self, "method", TOO_LARGE)
            for name in ("value", "low", "high"):
                force_setattr(self, name, None)
        for name in ("low", "high", "numerator"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                force_setattr(self, name, None)

    def __str__(self) -> str:
        if self.value is None:
            return self.method
        is_share = self.method.startswith("Wilson")
        scale, digits = (100.0, 1) if is_share else (1.0, None)
        text = f"{per_cent(self.value)} %" if is_share else _number(self.value, None)
        if self.low is not None or self.high is not None:
            low, high = (
                "not bounded" if end is None else _number(end * scale, digits) for end in (self.low, self.high)
            )
            text += f" [{low}, {high}]"
        if self.denominator is not None:
            counted = f"n {_count(self.denominator)}"
            if is_share and self.numerator is not None:
                counted = f"{_count(self.numerator)}/{_count(self.denominator)}"
            text += f", {counted}"
        if self.missing:
            text += f", {self.missing:,} not observed"
        return text

    def _repr_html_(self) -> str:
        from html import escape

        return f"<span title='{escape(self.method, quote=True)}'>{escape(str(self))}</span>"

    def to_dict(self) -> dict[str, float | int | str | None]:
        """The fields as plain JSON values, in the order they are declared."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class Test(msgspec.Struct, frozen=True):
    """Result of a two-sided test; ``p_value`` is ``None`` where the data allow no test."""

    __test__ = False  # pytest collects classes of this name

    statistic: float | None
    p_value: float | None
    n: int
    """Units the test compared (pairs, tasks, discordant pairs): ``method`` says which."""
    method: str


def not_observed(missing: int = 0, clusters: int | None = None) -> Estimate:
    """An estimate over nothing."""
    return Estimate(None, None, None, None, 0.0, NOT_OBSERVED, clusters, missing)


def per_cent(share: float, digits: int = 1) -> str:
    """A share in per cent: ``46.8``; what is neither 0 nor 1 is not rounded to it: ``<0.1``, ``>99.9``."""
    text, least = f"{100 * share:.{digits}f}", 10.0**-digits
    if share > 0 and float(text) <= 0:
        return f"<{least:.{digits}f}"
    return f">{100 - least:.{digits}f}" if share < 1 and float(text) >= 100 else text


def _number(value: float, digits: int | None) -> str:
    return f"{value:.{digits}f}" if digits is not None else f"{value:.4g}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
