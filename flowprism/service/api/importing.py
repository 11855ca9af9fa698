"""`/inventory/import`: the inventory from what a site has already."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from datamodel.document import Document
from datamodel.errors import InputError, InventoryError
from datamodel.inventory import Inventory
from flowprism.inventory_import.merging import Imported
from flowprism.inventory_import.reading import imported
from flowprism.service.access.dependencies import Administering, administering
from flowprism.service.answers import inventory as answers
from flowprism.service.api.answering import told, wrong
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer

router = APIRouter(tags=["inventory"])
_SUFFIXES = {"application/json": ".json", "text/csv": ".csv", "application/yaml": ".yaml", "text/yaml": ".yaml"}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {}},
            "application/yaml": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}},
            "text/plain": {"schema": {"type": "string"}},
        },
    }
}


class ImportMade(Document):
    """What became of a listing that was sent."""

    changed: bool = Field(description="whether the inventory is another than the one before")
    hosts: int
    endpoints: int
    switches: int
    links: int
    tenants: int
    jobs: int
    left_out: dict[str, int] = Field(description="how many of what could not be used, by reason")


@router.post(
    "/inventory/import",
    response_model=ImportMade,
    summary="Merge a listing into the inventory",
    openapi_extra=_BODY,
    dependencies=[Depends(administering)],
)
async def import_inventory(request: Request, viewer: Administering) -> Response:
    """Merge a listing of NetBox, Slurm or Kubernetes, or an inventory, with the inventory in force.

    The body is one listing as the system writes it; NetBox's lists of devices, interfaces, cables and IP addresses
    may stand in one JSON object. Jobs that a new listing of jobs does not name are over.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    suffix = _SUFFIXES.get(kind, ".txt")
    body = await request.body()
    shelf: Shelf = request.app.state.shelf
    made, changed = await run_in_threadpool(_merged, shelf, viewer, body, suffix)
    inventory = made.inventory
    return told(
        request,
        ImportMade(
            changed=changed,
            hosts=len(inventory.hosts),
            endpoints=sum(len(host.endpoints) for host in inventory.hosts),
            switches=len(inventory.switches),
            links=len(inventory.links),
            tenants=len(inventory.tenants),
            jobs=len(inventory.jobs),
            left_out=made.left_out,
        ),
    )


def _merged(shelf: Shelf, viewer: Viewer, body: bytes, suffix: str) -> tuple[Imported, bool]:
    """Merge a body and put the result in force; whether that changed anything."""
    known = answers.inventory(shelf, viewer) or Inventory()
    with TemporaryDirectory(prefix="flowprism-") as folder:
        path = Path(folder) / f"body{suffix}"
        try:
            path.write_bytes(body)
        except OSError as error:
            raise HTTPException(503, f"no room for what was sent: {error.strerror}") from None
        try:
            made = imported([path], known)
        except (InputError, InventoryError) as error:
            raise wrong("body", str(error).replace(f"{path}: ", "")) from None
    return made, answers.replace_inventory(shelf, viewer, time.time_ns(), made.inventory)
