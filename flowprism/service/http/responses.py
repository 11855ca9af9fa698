"""How documents become answers: JSON with an entity tag, and opaque cursors."""

from __future__ import annotations

import base64
import binascii
import hashlib

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel


def respond(request: Request, document: BaseModel | None, what: str = "") -> Response:
    """A document, or that it is the one the client has; 404 where there is none.

    Args:
        request: whose `If-None-Match` counts.
        document: what to send; None where there is none that the viewer sees.
        what: was asked for, for the 404's sentence.

    Raises:
        HTTPException: 404, `document` is None.
    """
    if document is None:
        raise HTTPException(404, f"there is no {what}")
    return respond_with_etag(request, document.model_dump_json(by_alias=True).encode(), "application/json")


def respond_with_etag(
    request: Request, body: bytes, media_type: str, headers: dict[str, str] | None = None
) -> Response:
    """Bytes with their entity tag; 304 without them where the client has them already (RFC 9110, 13.1.2).

    The response depends on the caller, and may change at any time: a cache revalidates each time.
    """
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    further = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization, Cookie"}
    further |= headers or {}
    if request.method == "GET" and _has(request.headers.get("If-None-Match", ""), tag):
        return Response(status_code=304, headers=further)
    return Response(body, headers=further, media_type=media_type)


def _has(known: str, tag: str) -> bool:
    return known.strip() == "*" or tag in {one.strip().removeprefix("W/") for one in known.split(",")}


def cursor(key: str) -> str:
    """An opaque cursor of the key that a page goes on behind."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_cursor(given: str | None) -> str:
    """The key of a cursor; "" for the first page.

    Raises:
        RequestValidationError: it is none of ours.
    """
    if not given:
        return ""
    try:
        key = base64.b64decode(given + "=" * (-len(given) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise wrong_cursor() from None
    if "\0" in key:
        raise wrong_cursor()
    return key


def wrong_cursor() -> RequestValidationError:
    """The error of a cursor that is none of ours."""
    return wrong("query", "cursor", "this is no cursor that a page gave")


def wrong(*where_and_what: str) -> RequestValidationError:
    """The error of a request part: where it stands, then what is wrong with it."""
    *where, what = where_and_what
    return RequestValidationError([{"loc": tuple(where), "msg": what, "type": "value_error"}])
