"""The inventory in force, and putting another in its place."""

from __future__ import annotations

from datamodel.inventory import Inventory
from flowprism.service.answers.sight import require, require_all_seen
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer
from storage.database import feeds as kept


def inventory(shelf: Shelf, viewer: Viewer) -> Inventory | None:
    """The inventory in force; None where there is none.

    Raises:
        NotAllowedError: the viewer sees one tenant only, and it tells of all.
        StorageError: the database cannot be reached.
    """
    require_all_seen(viewer)
    return kept.inventory(shelf.database)


def replace_inventory(shelf: Shelf, viewer: Viewer, now_ns: int, new: Inventory) -> bool:
    """Put an inventory in force from the next scan on; whether it is another than the one before.

    Raises:
        NotAllowedError: the viewer is no admin of all tenants.
        StorageError: the database cannot be reached.
    """
    require(viewer, "admin")
    require_all_seen(viewer)
    return kept.save_inventory(shelf.database, new, viewer.name, now_ns)
