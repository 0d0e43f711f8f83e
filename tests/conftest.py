"""What all tests share: samples (skipped where absent), an option that rewrites goldens, the profile of hypothesis."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpora_in_tests import shared_folder
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about the code: a loaded one draws slowly, and a deadline is a clock.
settings.register_profile(
    "trajlab", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("trajlab")


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
