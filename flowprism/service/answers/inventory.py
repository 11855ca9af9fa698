"""The inventory in force, putting another in its place, and merging a site's listings into it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from datamodel.errors import InputError, InventoryError, StorageError
from datamodel.inventory import Inventory
from flowprism.inventory_import.merging import Imported
from flowprism.inventory_import.reading import imported
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


def merge_listing(shelf: Shelf, viewer: Viewer, now_ns: int, listing: bytes, suffix: str) -> tuple[Imported, bool]:
    """Merge a listing of NetBox, Slurm or Kubernetes, or an inventory, into the inventory in force.

    Args:
        shelf: where the inventory is kept.
        viewer: who does it.
        now_ns: the clock, UTC.
        listing: as the system writes it.
        suffix: what the name of a file that holds such would end with, `.csv` or `.json`.

    Returns:
        What it makes, and whether that is another inventory than the one before.

    Raises:
        NotAllowedError: the viewer is no admin of all tenants.
        InputError: it is no listing that is known, or contradicts itself.
        InventoryError: it is an inventory, and not right.
        StorageError: the database cannot be reached, or there is no room for the listing.
    """
    require(viewer, "admin")
    known = inventory(shelf, viewer) or Inventory()
    with TemporaryDirectory(prefix="flowprism-") as folder:
        path = Path(folder) / f"listing{suffix}"
        try:
            path.write_bytes(listing)
            made = imported([path], known)
        except OSError as error:
            raise StorageError(f"no room for what was sent: {error.strerror}") from None
        except (InputError, InventoryError) as error:
            raise type(error)(str(error).replace(f"{path}: ", "")) from None
    return made, replace_inventory(shelf, viewer, now_ns, made.inventory)
