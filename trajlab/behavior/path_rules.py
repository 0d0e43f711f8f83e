"""Rules as data: which paths are tests, which are scratch, and where the repository lies.

A path has one of three classes:

- ``test``: it stands in a folder of tests, or its name is that of a test (``TEST_FOLDERS``, ``ROOT_TEST_FOLDERS``,
  ``TEST_NAME``);
- ``scratch``: it lies outside the work tree (``OUTSIDE``), is a by-product (``BY_PRODUCT``), or **the agent made it**
  during the run and it is no part of the project: at the top of the work tree, in a top folder that the agent itself
  made, or with a helper's name (``HELPER``: ``reproduce_issue.py``, ``debug.py`` …). It stays scratch from then on.
  What a script of the agent's makes in a top folder not seen before, and what is deleted at the top unseen, is
  scratch, too;
- ``project``: every other path. A file of unknown origin with a helper's name that the agent only reads is project.
"""

from __future__ import annotations

import re

PATHS_VERSION = "1"
"""Changes whenever the class of any path may change."""

TEST_FOLDERS = frozenset(
    {"tests", "__tests__", "specs", "__mocks__", "__snapshots__", "testdata", "unittests", "androidTest"}
)
"""Folders of tests wherever they stand."""

ROOT_TEST_FOLDERS = frozenset(["test", "testing", "spec", "e2e", "t", "integration_tests", "functional_tests"])
"""Folders of tests at the top or below ``src`` only: ``django/test`` and ``sympy/testing`` are code."""

TEST_NAME = re.compile(
    r"(?:test_[^/]*|[^/]*_tests?|tests?|conftest)\.py\Z"
    r"|[^/]*_test\.(?:go|cc|cpp|c|exs?|dart|rb)\Z|[^/]*_spec\.(?:rb|lua)\Z"
    r"|[^/]*[.-](?:test|spec)\.(?:[cm]?[jt]sx?|vue)\Z"
    r"|[^/]*(?:Test|Tests|TestCase|Spec|IT)\.(?:java|kt|scala|groovy|cs|php|swift)\Z"
)
"""Names of test files (matched at the start of the last component)."""

OUTSIDE = (
    "/tmp/", "/var/", "/dev/", "/proc/", "/etc/", "/usr/", "/opt/", "/root/", "/home/", "/mnt/", "/private/", "/sys/",
    "/lib/", "/bin/", "~/", "../", "$HOME/",
)  # fmt: skip
"""Beginnings of paths outside the work tree (where the repository is not told to be there)."""

BY_PRODUCT = (".bak", ".orig", ".rej", ".log", ".out", ".pyc", ".swp", ".tmp", ".diff", ".patch", "~")

HELPER = re.compile(
    r"(?:\A|[/_.-])(?:repro|reproduce[rd]?|reproduction|reproducer|scratch|debug|tmp|temp|poc|mwe|verify|verification)"
    r"(?=[/_.-]|[0-9]|\Z)",
    re.IGNORECASE,
)
"""Names of what agents make for themselves; asked only of files that the agent made."""
