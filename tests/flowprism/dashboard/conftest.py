"""A browser for all tests of pages, and what it looks at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from flowprism.service.stores import Stores
from tests.flowprism.dashboard import browser
from tests.flowprism.service.stored import stored_demo


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless Chromium; tests that take it are skipped where there is none.

    One a module: while Playwright runs no other event loop can be started in its thread, as tests elsewhere do.
    """
    if browser.CHROMIUM is None:
        pytest.skip(browser.NO_CHROMIUM)
    with browser.chromium() as found:
        yield found


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """The bundled capture, analysed and scanned."""
    stores = stored_demo(tmp_path_factory.mktemp("demo"))
    yield stores
    stores.database.close()


@pytest.fixture(scope="session")
def demo_address(demo: Stores) -> Iterator[str]:
    """Where the bundled capture's dashboard is served."""
    with browser.served_stores(demo) as address:
        yield address
