"""The inventory in force, putting another in its place, and merging a site's listings into it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError, InventoryError, PermissionDeniedError, StorageError
from flowprism.inputs.inventory_file import load_inventory
from flowprism.inventory_import.listing_reader import import_listings
from flowprism.inventory_import.merge import MergedInventory
from flowprism.service.queries.visibility import require, require_all_seen
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database import feed_statistics as kept


def in_force(stores: Stores) -> Inventory | None:
    """The inventory that scans use: the file of `scans.inventory` where one is set, else the newest that was uploaded.

    Raises:
        InventoryError: the file cannot be used.
        InputError: the file cannot be read.
        StorageError: the database cannot be reached.
    """
    path = stores.settings.scans.inventory
    if path is None:
        return kept.inventory(stores.database)
    try:
        seen = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror} (scans.inventory)") from None
    return stores.at_hand.once("inventory", (path, seen.st_mtime_ns, seen.st_size), lambda: load_inventory(path))


def inventory(stores: Stores, viewer: Viewer) -> Inventory | None:
    """The inventory in force; None where there is none.

    Raises:
        PermissionDeniedError: the viewer sees one tenant only, and the inventory covers all.
        StorageError: the database cannot be reached.
    """
    require_all_seen(viewer)
    return in_force(stores)


def replace_inventory(stores: Stores, viewer: Viewer, now_ns: int, new: Inventory) -> bool:
    """Put an inventory in force from the next scan on; whether it is another than the one before.

    Raises:
        PermissionDeniedError: the viewer is no admin of all tenants.
        StorageError: the database cannot be reached.
    """
    require(viewer, "admin")
    require_all_seen(viewer)
    path = stores.settings.scans.inventory
    if path is not None:
        raise PermissionDeniedError(f"the inventory in force is the file {path} (scans.inventory): change that file")
    return kept.save_inventory(stores.database, new, viewer.name, now_ns)


def merge_listing(
    stores: Stores, viewer: Viewer, now_ns: int, listing: bytes, suffix: str
) -> tuple[MergedInventory, bool]:
    """Merge a listing of NetBox, Slurm or Kubernetes, or an inventory, into the inventory in force.

    Args:
        stores: where the inventory is kept.
        viewer: the caller.
        now_ns: the clock, UTC.
        listing: as the system writes it.
        suffix: what the name of a file that holds such would end with, `.csv` or `.json`.

    Returns:
        What it makes, and whether that is another inventory than the one before.

    Raises:
        PermissionDeniedError: the viewer is no admin of all tenants.
        InputError: it is no listing that is known, or contradicts itself.
        InventoryError: it is an inventory, and not right.
        StorageError: the database cannot be reached, or there is no room for the listing.
    """
    require(viewer, "admin")
    known = inventory(stores, viewer) or Inventory()
    with TemporaryDirectory(prefix="flowprism-") as folder:
        path = Path(folder) / f"listing{suffix}"
        try:
            path.write_bytes(listing)
            made = import_listings([path], known)
        except OSError as error:
            raise StorageError(f"no room for what was sent: {error.strerror}") from None
        except (InputError, InventoryError) as error:
            raise type(error)(str(error).replace(f"{path}: ", "")) from None
    return made, replace_inventory(stores, viewer, now_ns, made.inventory)
