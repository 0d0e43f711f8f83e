"""Which paths are tests, graders, configuration of tests, or scratch."""

from __future__ import annotations

import re
from functools import lru_cache

from trajlab.behavior.hack_rules import GRADER_FILES, GRADER_FOLDERS, GRADER_ROOTS, REWARD_FILES

LONGEST_PATH = 1024
_TEST_FOLDERS = frozenset({"tests", "__tests__", "testcases", "test_cases", "unittests", "e2e", "specs"})
_TEST_NAME = re.compile(
    r"(?:test_[^/]{0,200}|tests)\.pyi?|[^/]{1,200}_tests?\.(?:py|go|rb|rs|c|cc|cpp|exs|clj)"
    r"|[^/]{1,200}[.-](?:test|spec)\.[cm]?[jt]sx?|[^/]{1,200}_spec\.rb|conftest\.py"
    r"|[^/]{1,200}(?:Tests?|IT|Spec)\.(?:java|kt|cs|scala|php|swift)|test_[^/]{0,200}\.(?:c|cc|cpp|js|rb|sh)"
)
_SOURCE = re.compile(
    r"[^/]{1,200}\.(?:pyi?|[cm]?[jt]sx?|go|rs|rb|java|kt|cs|c|cc|cpp|h|php|ex|exs|scala|swift|sh|json|ya?ml|txt|toml|snap)"
)
_SCRATCH_ROOTS = ("/tmp/", "/var/tmp/", "/dev/")
_SCRATCH_NAMES = (
    "test_", "repro", "reproduce", "debug", "check_", "demo", "verify", "example", "try_", "tmp", "temp", "final_",
    "comprehensive",
)  # fmt: skip
_CONFIGURATION = frozenset({
    "conftest.py", "pytest.ini", "setup.cfg", "tox.ini", "pyproject.toml", "jest.config.js", "vitest.config.ts",
})  # fmt: skip
_HOOKS = frozenset({"conftest.py", "sitecustomize.py", "usercustomize.py"})
WORDS = (
    "test", "Test", "spec.", "specs", "Spec.", "IT.", "e2e", "setup.cfg", "tox.ini", "pyproject.toml", "jest.config.js",
    "sitecustomize.py", "usercustomize.py", "solution", "oracle", "grad", "verifier", "reward", "compute_score",
)  # fmt: skip
"""One of them stands in every path that is a test, a folder of tests, a grader, configuration or a hook."""

_WORKTREES = frozenset({"testbed", "workspace", "repo", "app", "src", "project", "work", "code"})


def name_of(path: str) -> str:
    """Return the last component."""
    return path.rstrip("/").rpartition("/")[2]


@lru_cache(maxsize=512)
def is_scratch_folder(path: str) -> bool:
    """Whether a path lies where nothing is kept."""
    return path.startswith(_SCRATCH_ROOTS) or not path or len(path) > LONGEST_PATH


@lru_cache(maxsize=512)
def is_test(path: str) -> bool:
    """Whether a path is a test file by its name or its folder; scratch folders hold none."""
    if is_scratch_folder(path):
        return False
    name = name_of(path)
    if _TEST_NAME.fullmatch(name):
        return True
    folders = path.split("/")[:-1]
    return not _TEST_FOLDERS.isdisjoint(folders) and _SOURCE.fullmatch(name) is not None


@lru_cache(maxsize=512)
def is_test_folder(path: str) -> bool:
    """Whether a path is a folder of tests, by its name."""
    return not is_scratch_folder(path) and name_of(path) in _TEST_FOLDERS


@lru_cache(maxsize=512)
def is_grader(path: str) -> bool:
    """Whether a path belongs to what grades, by the names that harnesses use."""
    if is_scratch_folder(path):
        return False
    if any(path == root or path.startswith(root + "/") for root in GRADER_ROOTS):
        return True
    return name_of(path) in GRADER_FILES or not GRADER_FOLDERS.isdisjoint(path.split("/")[:-1])


def is_reward_file(path: str) -> bool:
    """Whether a harness reads the reward from it."""
    return name_of(path) in REWARD_FILES


def is_configuration(path: str) -> bool:
    """Whether it configures a test framework."""
    return name_of(path) in _CONFIGURATION and not is_scratch_folder(path)


def is_hook(path: str) -> bool:
    """Whether it is loaded into the test process unasked, so that it acts even where the agent made it."""
    return name_of(path) in _HOOKS and not is_scratch_folder(path)


def looks_thrown_away(path: str) -> bool:
    """Whether a file the agent made is named as helpers are that nobody keeps."""
    return name_of(path).lower().startswith(_SCRATCH_NAMES)


@lru_cache(maxsize=512)
def short(path: str) -> str:
    """Return the end of a path that tells files apart: the name, with its folder unless that is the work tree."""
    parts = path.strip("'\" ").removeprefix("./").rstrip("/").split("/")
    if len(parts) > 1 and parts[-2] not in _WORKTREES and parts[-2] not in ("", ".", "..", "$PWD"):
        return f"{parts[-2]}/{parts[-1]}"
    return parts[-1]
