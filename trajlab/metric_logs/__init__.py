"""Metric logs of trainers: one module for each layout, and common names for what they hold."""
