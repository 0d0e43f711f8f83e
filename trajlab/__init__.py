"""Trajectory behaviour analysis for agent reinforcement learning."""
