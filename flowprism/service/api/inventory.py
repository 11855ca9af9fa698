"""`/inventory`: what is known of the fabric beforehand, to read and to replace."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool

from datamodel.cluster.inventory import Inventory
from datamodel.document import Document
from datamodel.errors import InventoryError
from flowprism.inputs.inventory_file import inventory_of
from flowprism.service.access.dependencies import Administering, Seeing
from flowprism.service.http.responses import respond, wrong
from flowprism.service.queries import inventory as answers

router = APIRouter(tags=["inventory"])


class Replaced(Document):
    """What became of an inventory that was sent."""

    changed: bool = Field(description="whether it is another than the one before")
    hosts: int
    endpoints: int
    switches: int


@router.get("/inventory", response_model=Inventory, summary="The inventory in force")
def inventory(request: Request, viewer: Seeing) -> Response:
    """The inventory in force (`flowprism.inventory/v1`). For users of all tenants."""
    return respond(request, answers.inventory(request.app.state.stores, viewer), "inventory")


_YAML = {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Inventory"}},
            "application/yaml": {"schema": {"$ref": "#/components/schemas/Inventory"}},
        },
    }
}


async def sent_inventory(request: Request, _: Administering) -> Inventory:
    """The inventory in the body: YAML as files of it are written, or JSON.

    Raises:
        RequestValidationError: it is neither, or no inventory.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _YAML:
        return await run_in_threadpool(_from_yaml, body)
    try:
        return await run_in_threadpool(Inventory.model_validate_json, body)
    except ValidationError as error:
        found = [{**e, "loc": ("body", *e["loc"])} for e in error.errors(include_url=False, include_context=False)]
        raise RequestValidationError(found) from None


def _from_yaml(body: bytes) -> Inventory:
    try:
        return inventory_of(body.decode("utf-8-sig"), "body")
    except UnicodeDecodeError:
        raise wrong("body", "not UTF-8 text") from None
    except InventoryError as error:
        raise wrong("body", str(error).removeprefix("body: ")) from None


@router.put("/inventory", response_model=Replaced, summary="Replace the inventory", openapi_extra=_BODY)
def replace_inventory(
    request: Request, viewer: Administering, new: Annotated[Inventory, Depends(sent_inventory)]
) -> Response:
    """Put an inventory in force from the next scan on: `flowprism.inventory/v1`, as YAML or as JSON."""
    changed = answers.replace_inventory(request.app.state.stores, viewer, time.time_ns(), new)
    endpoints = sum(len(host.endpoints) for host in new.hosts)
    replaced = Replaced(changed=changed, hosts=len(new.hosts), endpoints=endpoints, switches=len(new.switches))
    return respond(request, replaced)
