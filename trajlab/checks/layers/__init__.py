"""The fifteen layers of the run diagnosis: each a module with its checks, its pictures and what to log.

A new check of a layer is a function in its module, named in its `LAYER`, and its lines in ``thresholds.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from trajlab.checks.finding import Finding
from trajlab.checks.layers import (
    l01_score,
    l02_kl,
    l03_groups,
    l04_updates,
    l05_critic,
    l06_entropy,
    l07_truncation,
    l08_time,
    l09_memory,
    l10_validation,
    l11_reward,
    l12_trajectories,
    l13_difficulty,
    l14_symptoms,
    l15_order,
)
from trajlab.checks.layers.base import Layer, LayerReport, RunFacts, examine
from trajlab.checks.layers.onset import OnsetRow, onset_rows

LAYERS: tuple[Layer, ...] = (
    l01_score.LAYER, l02_kl.LAYER, l03_groups.LAYER, l04_updates.LAYER, l05_critic.LAYER, l06_entropy.LAYER,
    l07_truncation.LAYER, l08_time.LAYER, l09_memory.LAYER, l10_validation.LAYER, l11_reward.LAYER,
    l12_trajectories.LAYER, l13_difficulty.LAYER,
)  # fmt: skip
"""The layers that look at the run; L14 and L15 look at them."""
COUNT = len(LAYERS) + 2


class Diagnosis(msgspec.Struct):
    """What the fifteen layers say of one run."""

    layers: list[LayerReport]
    symptoms: list[l14_symptoms.SymptomRow]
    onsets: list[OnsetRow]
    order: list[l15_order.OrderRow]

    @property
    def covered(self) -> list[str]:
        """Codes of the layers that could be judged."""
        return [layer.code for layer in self.layers if layer.status in ("ok", "warn", "alarm")]

    @property
    def findings(self) -> list[Finding]:
        """All findings, layer by layer."""
        return [finding for layer in self.layers for finding in layer.findings]


def diagnose_layers(facts: RunFacts, more: Iterable[Finding] = ()) -> Diagnosis:
    """All layers of a run.

    Args:
        facts: The run.
        more: Findings of alarms and of checks over rollouts; each goes to the layer it names.
    """
    others = list(more)
    reports = [examine(layer, facts, [item for item in others if item.layer == layer.code]) for layer in LAYERS]
    symptoms = l14_symptoms.symptom_rows(reports)
    reports.append(l14_symptoms.report(symptoms, reports))
    onsets = onset_rows(facts)
    of_reading = [item for item in others if item.layer == "L15"]
    beside = LayerReport(code="L15", title="", question="", status="ok", message="", findings=of_reading)
    order = l15_order.order_rows(facts, [*reports[:-1], beside])
    last = l15_order.report(order, onsets, reports[:-1])
    reports.append(msgspec.structs.replace(last, findings=[*last.findings, *of_reading]))
    return Diagnosis(reports, symptoms, onsets, order)
