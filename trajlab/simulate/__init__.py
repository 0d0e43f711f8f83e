"""Simulated runs: verl rollout dumps and metric logs with known figures, to test readers, measures and alarms on."""

from __future__ import annotations

from trajlab.simulate.description import RUNS, Description, load_description
from trajlab.simulate.drawing import correlated_outcomes, success_rates
from trajlab.simulate.run import SimulatedRun, simulate

__all__ = [
    "RUNS",
    "Description",
    "SimulatedRun",
    "correlated_outcomes",
    "load_description",
    "simulate",
    "success_rates",
]
