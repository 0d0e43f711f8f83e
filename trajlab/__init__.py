"""Trajectory behaviour analysis for agent reinforcement learning."""

__version__ = "0.1.0"
