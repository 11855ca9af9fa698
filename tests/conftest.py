"""What all tests share: where the captures beside the checkout lie, and property tests that repeat."""

from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

# The same examples in every run; no deadline, since a kernel's first call compiles it.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that take the fixture `shared`, and skip all marked ones where the folder is absent."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")
        if item.get_closest_marker("shared") and not SHARED.is_dir():
            item.add_marker(pytest.mark.skip(reason="no captures beside the checkout (../shared)"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of captures beside the checkout."""
    return SHARED
