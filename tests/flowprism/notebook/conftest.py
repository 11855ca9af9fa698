"""The bundled capture as a notebook sees it: analyzed here, and kept by a running service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import flowprism
from flowprism.notebook.analysis import AnalysisFrames
from flowprism.notebook.sources import LocalSource
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts.tokens import new_token
from flowprism.service.access.accounts.user_accounts import new_user
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from storage.database import access
from tests.flowprism.service.serving import serving
from tests.flowprism.service.stored import demo_analysis, demo_inventory, stored_demo


@pytest.fixture(scope="session")
def local() -> AnalysisFrames:
    """Analyzed in this process."""
    return AnalysisFrames(LocalSource(demo_analysis(), demo_inventory()))


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address of a service that scanned it and asks who comes, and a token that reads."""
    stores = stored_demo(tmp_path_factory.mktemp("service"))
    access.save_user(stores.database, new_user("ann", "viewer", None, None, 0))
    kept, token = new_token("ann", ["read"], 0, None)
    access.save_token(stores.database, kept)
    with serving(application(stores, Settings(), AccessSettings(mode="login"))) as address:
        yield address, token
    stores.database.close()


@pytest.fixture(scope="session")
def remote(served: tuple[str, str]) -> AnalysisFrames:
    """What that service kept."""
    return flowprism.open(*served)
