"""Notebooks run, pages, tables and figures written."""
