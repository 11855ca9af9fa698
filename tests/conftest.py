"""What all tests share: where the captures beside the checkout lie, checked kernels, and property tests that repeat."""

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.neighbours import SHARED, Captures

# The same examples in every run; no deadline, since a kernel's first call compiles it.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without cyclic garbage collection, then exclude all objects loaded so far from it.

    They live until the end: a full collection that visits a million of them takes a second, and there are dozens.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that take the fixture `shared`, so that they can be chosen; what is absent they are skipped for."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of captures beside the checkout; going on to one that is not there skips the test."""
    return Captures(SHARED)


@pytest.fixture
def bounds_checked(cache: pytest.Cache) -> dict[str, str]:
    """The environment of processes whose kernels check every index.

    They take over what another one compiled, in an earlier run too: code of another source is compiled again.
    """
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache.mkdir("bounds-checked"))}
