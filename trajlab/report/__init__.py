"""Notebook runner, pages, tables, figures and machine-readable results."""
