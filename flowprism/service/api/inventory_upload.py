"""`/inventory/import`: the inventory from what a site has already."""

from __future__ import annotations

import time

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from datamodel.document import Document
from datamodel.errors import InputError, InventoryError
from flowprism.service.access.dependencies import Administering, require_admin
from flowprism.service.http.responses import respond, wrong
from flowprism.service.queries.inventory import merge_listing
from flowprism.service.stores import Stores

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
    dependencies=[Depends(require_admin)],
)
async def import_inventory(request: Request, viewer: Administering) -> Response:
    """Merge a listing of NetBox, Slurm or Kubernetes, or an inventory, with the inventory in force.

    The body is one listing as the system writes it; NetBox's lists of devices, interfaces, cables and IP addresses
    may stand in one JSON object. Jobs that a new listing of jobs does not name are over.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    suffix = _SUFFIXES.get(kind, ".txt")
    body = await request.body()
    stores: Stores = request.app.state.stores
    try:
        made, changed = await run_in_threadpool(merge_listing, stores, viewer, time.time_ns(), body, suffix)
    except (InputError, InventoryError) as error:
        raise wrong("body", str(error)) from None
    inventory = made.inventory
    return respond(
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
