"""Which listing a file is, by what stands in it; several files of one system, such as NetBox's lists, are one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from flowprism.inputs.inventory_file import load_inventory
from flowprism.inventory_import import kubernetes, netbox, slurm
from flowprism.inventory_import.listing import InventoryListing, RunningJob
from flowprism.inventory_import.merge import MergedInventory, merge_listings


def import_listings(paths: Sequence[Path], base: Inventory) -> MergedInventory:
    """An inventory of what files say, merged with what is known.

    Raises:
        InputError: a file cannot be read, is none that is known, or contradicts itself.
        InventoryError: a file is an inventory, and not right.
    """
    found: list[InventoryListing] = []
    objects = netbox.Objects()
    for path in paths:
        document = _document(path)
        if netbox.is_listing(document):
            objects.take(netbox.items_of(document))
        else:
            found.append(_found(path, document))
    if objects != netbox.Objects():
        found.insert(0, _parsed(paths[0], lambda: netbox.found_in(objects)))
    try:
        return merge_listings(base, found)
    except ValidationError as error:
        raise InputError(f"{paths[0]}: {_cause(error)}") from None


def _found(path: Path, document: Any) -> InventoryListing:  # noqa: ANN401 - any JSON
    if isinstance(document, dict) and "schema" in document:
        return _of(load_inventory(path))
    if slurm.is_listing(document):
        return _parsed(path, lambda: slurm.from_json(document))
    if kubernetes.is_listing(document):
        return _parsed(path, lambda: kubernetes.from_json(document))
    if isinstance(document, str) and document.lstrip().startswith("JobId="):
        return _parsed(path, lambda: slurm.from_text(document))
    if isinstance(document, str) or (isinstance(document, dict) and "hosts" in document):
        return _of(load_inventory(path))
    raise InputError(f"{path}: neither an inventory nor a listing of NetBox, Slurm or Kubernetes")


def _document(path: Path) -> Any:  # noqa: ANN401 - any JSON
    """The JSON of a file; its text where it is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith(("{", "[")) and path.suffix.lower() == ".json":
            raise InputError(f"{path}: not JSON: {error}") from None
        return text


def _parsed(path: Path, read: Any) -> InventoryListing:  # noqa: ANN401 - a function without arguments
    """What a reader finds, its complaints with the file's name. Listings are not ours: any field may be of any kind."""
    try:
        found: InventoryListing = read()
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {_cause(error)}") from None
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise InputError(f"{path}: a field is not what it should be: {type(error).__name__}: {error}") from None
    return found


def _cause(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return " ".join(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ").split())


def _of(inventory: Inventory) -> InventoryListing:
    """An inventory as something found; its jobs count as a listing where it has any."""
    jobs = [
        RunningJob(one.name, one.id or one.name, one.tenant, one.hosts, one.start, one.end) for one in inventory.jobs
    ]
    return InventoryListing(
        hosts=list(inventory.hosts),
        switches=list(inventory.switches),
        links=list(inventory.links),
        tenants=list(inventory.tenants),
        services=list(inventory.services),
        jobs=jobs or None,
    )
