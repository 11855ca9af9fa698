"""Asks a running service: documents, lists page by page, and tables as Arrow streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pyarrow as pa

from datamodel.errors import InputError, LimitExceededError, StorageError
from flowprism import __version__
from flowprism.service.http.arrow_responses import ARROW

_TIMEOUT_S = 120.0  # the first answer after a start waits until kernels are compiled
_MOST_ITEMS = 500  # on a page


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection: it would take the token elsewhere."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


class ApiClient:
    """Asks one service, with one token."""

    def __init__(self, url: str, token: str | None) -> None:
        """Ask the service at `url`, such as `http://127.0.0.1:8080`.

        Raises:
            InputError: it is no address of a web server.
        """
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise InputError(f"{url}: not the address of a service: it begins with http:// or https://")
        self._base = f"{url.rstrip('/')}/api/v1"
        self._headers = {"User-Agent": f"flowprism/{__version__}"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._opener = build_opener(_NoRedirect)

    def document(self, path: str, parameters: Mapping[str, object] | None = None) -> dict[str, Any]:
        """A JSON document.

        Raises:
            FlowprismError: the service cannot be reached or refuses; the message names the request and the cause.
        """
        document: dict[str, Any] = json.loads(self._asked(path, parameters, "application/json"))
        return document

    def items(self, path: str, parameters: Mapping[str, object] | None = None) -> Iterator[dict[str, Any]]:
        """The items of a list, page by page; errors as of `document`."""
        asked = {**(parameters or {}), "limit": _MOST_ITEMS}
        while True:
            page = self.document(path, asked)
            yield from page["items"]
            if page["next"] is None:
                return
            asked["cursor"] = page["next"]

    def table(self, path: str, parameters: Mapping[str, object] | None = None) -> pa.Table:
        """A table with the metadata of its schema; errors as of `document`."""
        return pa.ipc.open_stream(self._asked(path, parameters, ARROW)).read_all()

    def _asked(self, path: str, parameters: Mapping[str, object] | None, media_type: str) -> bytes:
        query = f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        url = f"{self._base}/{path}{query}"
        request = Request(url, headers={**self._headers, "Accept": media_type})  # noqa: S310 - http or https, see above
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                content: bytes = answer.read()
                return content
        except HTTPError as error:
            raise _refused(url, error) from None
        except (URLError, OSError) as error:
            raise StorageError(f"{url}: {getattr(error, 'reason', None) or error}") from None


def path_of(*parts: str) -> str:
    """A path of these parts; a slash inside a part stays part of it."""
    return "/".join(quote(part, safe="") for part in parts)


def _refused(url: str, error: HTTPError) -> Exception:
    try:
        said = json.load(error)
        detail = f"{said['title']}: {said['detail']}" if said.get("detail") else said["title"]
    except (ValueError, KeyError, TypeError, AttributeError):
        detail = str(error.reason)
    kind = LimitExceededError if error.code == 422 else StorageError if error.code >= 500 else InputError
    return kind(f"{url}: {error.code} {detail}")
