"""`/inventory`: what is known of the fabric beforehand, to read and to replace."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response
from pydantic import Field

from datamodel.document import Document
from datamodel.inventory import Inventory
from flowprism.service.access.dependencies import Administering, Seeing
from flowprism.service.answers import inventory as answers
from flowprism.service.api.answering import told

router = APIRouter(tags=["inventory"])


class Replaced(Document):
    """What became of an inventory that was sent."""

    changed: bool = Field(description="whether it is another than the one before")
    hosts: int
    endpoints: int
    switches: int


@router.get("/inventory", response_model=Inventory, summary="The inventory in force")
def inventory(request: Request, viewer: Seeing) -> Response:
    """The inventory in force (`flowprism.inventory/v1`). For who sees all tenants."""
    return told(request, answers.inventory(request.app.state.shelf, viewer), "inventory")


@router.put("/inventory", response_model=Replaced, summary="Replace the inventory")
def replace_inventory(request: Request, viewer: Administering, new: Inventory) -> Response:
    """Put an inventory in force from the next scan on."""
    changed = answers.replace_inventory(request.app.state.shelf, viewer, time.time_ns(), new)
    endpoints = sum(len(host.endpoints) for host in new.hosts)
    replaced = Replaced(changed=changed, hosts=len(new.hosts), endpoints=endpoints, switches=len(new.switches))
    return told(request, replaced)
