"""What the API part makes before it answers."""

from __future__ import annotations

from pathlib import Path

from datamodel.cluster.inventory import Inventory
from flowprism.dashboard.page_templates import environment
from flowprism.service.components.api import make_ready
from flowprism.service.stores import Stores
from storage.database.connection import Database, upsert
from storage.database.feed_statistics import save_inventory
from storage.database.tables import INVENTORIES


def test_every_template_is_compiled_before_the_first_page(tmp_path: Path) -> None:
    """Whoever comes first waits for none of them."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    save_inventory(database, Inventory(), "tests", 1)
    environment.cache_clear()
    make_ready(Stores(database))
    database.close()
    assert len(environment().cache or ()) == len(environment().list_templates())


def test_an_inventory_that_cannot_be_read_keeps_nobody_from_starting(tmp_path: Path) -> None:
    """The pages that need it tell of it; the others are there."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    row = {"time_ns": 1, "sha256": "0", "author": "tests", "document": '{"hosts": 7}'}
    with database.writing() as connection:
        upsert(connection, INVENTORIES, [row])
    make_ready(Stores(database))
    database.close()
