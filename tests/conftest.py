"""What all tests share: the shared samples (skipped where absent) and the option that rewrites goldens."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpora_in_tests import shared_folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/goldens; review the difference")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared samples; the test is skipped where they are absent."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("no shared samples beside the repository")
    return folder
