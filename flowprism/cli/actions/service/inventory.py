"""Inventories from the command line: read listings, merge them, write the result or put it in force."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
import yaml

from datamodel.cluster.inventory import Inventory
from flowprism.cli.actions.service.user_accounts import system_user
from flowprism.cli.output_errors import name_output_errors
from flowprism.inputs.inventory_file import load_inventory
from flowprism.inventory_import.listing_reader import import_listings
from flowprism.rendering.units import plural
from flowprism.service.access.audit_log import audit_command
from storage.database.connection import Database
from storage.database.feed_statistics import inventory as in_force
from storage.database.feed_statistics import save_inventory


def import_inventory(paths: Sequence[Path], into: Path | None, out: Path | None, results: str | None) -> None:
    """Merge what files say with what is known; what was left out is reported on stderr.

    Raises:
        InputError: a file cannot be used, or the output not be written.
        InventoryError: an inventory is not right.
        StorageError: the results database cannot be reached.
    """
    base = load_inventory(into) if into is not None else Inventory()
    if results is None:
        made = import_listings(paths, base)
        _say(made.inventory, made.left_out)
        _write(made.inventory, out)
        return
    database = Database(results)
    try:
        known = base if into is not None else in_force(database) or base
        made = import_listings(paths, known)
        changed = save_inventory(database, made.inventory, system_user(), time.time_ns())
        if changed:
            audit_command(
                database,
                system_user(),
                "inventory import",
                ", ".join(path.name for path in paths)[:500],
                time.time_ns(),
            )
        _say(made.inventory, made.left_out)
        typer.echo(f"{'in force' if changed else 'in force already'} in {database.name}", err=True)
    finally:
        database.close()
    if out is not None:
        _write(made.inventory, out)


def _write(inventory: Inventory, out: Path | None) -> None:
    """As JSON where the file's name says so, else as YAML."""
    document = inventory.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    document = {"schema": inventory.schema_, **document}
    as_json = out is not None and out.suffix.lower() == ".json"
    dumper = yaml.CSafeDumper
    text = json.dumps(document, indent=1) if as_json else yaml.dump(document, Dumper=dumper, sort_keys=False, width=110)
    if out is None:
        sys.stdout.write(text)
        return
    with name_output_errors(out):
        out.write_text(text + ("\n" if as_json else ""))


def _say(inventory: Inventory, left_out: Mapping[str, int]) -> None:
    endpoints = sum(len(host.endpoints) for host in inventory.hosts)
    typer.echo(
        f"{plural(len(inventory.hosts), 'host')} with {plural(endpoints, 'endpoint')}, "
        f"{len(inventory.switches)} {'switch' if len(inventory.switches) == 1 else 'switches'}, "
        f"{plural(len(inventory.links), 'link')} between them, {plural(len(inventory.tenants), 'tenant')}, "
        f"{plural(len(inventory.jobs), 'job')}",
        err=True,
    )
    for reason, count in left_out.items():
        typer.echo(f"left out: {count} {reason}", err=True)
