"""Style sheets and modules: served under a stamp of their contents, so that browsers keep them for good."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, HTTPException, Request, Response

router = APIRouter(include_in_schema=False)
FIGURES = "figures.css"
_FOR_GOOD = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file: its bytes, its media type and its entity tag."""

    body: bytes
    media_type: str
    tag: str


@cache
def static_files() -> dict[str, StaticFile]:
    """Every file of the folder `static`, by its path in it, and the style of figures that reports have too."""
    found = {
        path: _file(path, entry.read_bytes()) for path, entry in _walk(files("flowprism.dashboard") / "static", "")
    }
    style = (files("flowprism.rendering") / "templates" / FIGURES).read_bytes()
    return found | {FIGURES: _file(FIGURES, style)}


@cache
def stamp() -> str:
    """What changes when any of the files does. Modules name one another relatively, so all of them share it."""
    whole = hashlib.sha256()
    for path, file in sorted(static_files().items()):
        whole.update(f"{path} {file.tag}\n".encode())
    return whole.hexdigest()[:12]


def address(path: str) -> str:
    """Where a page finds a file.

    Raises:
        KeyError: there is none.
    """
    if path not in static_files():
        raise KeyError(f"no static file {path}")
    return f"/static/{stamp()}/{path}"


@router.get("/static/{path:path}")
def static(request: Request, path: str) -> Response:
    """A file: kept for good under today's stamp, asked for again by its tag under none or an old one."""
    head, _, rest = path.partition("/")
    stamped = head == stamp()
    found = static_files().get(rest if stamped else path) or static_files().get(rest)
    if found is None:
        raise HTTPException(404, "there is no such file")
    headers = {"ETag": found.tag, "Cache-Control": _FOR_GOOD if stamped else _ASK_AGAIN}
    if found.tag in request.headers.get("If-None-Match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.body, headers=headers, media_type=found.media_type)


def _file(path: str, body: bytes) -> StaticFile:
    suffix = path[path.rfind(".") :]
    guessed = _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    return StaticFile(body, guessed, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _walk(folder: Traversable, within: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        path = f"{within}{entry.name}"
        found += _walk(entry, f"{path}/") if entry.is_dir() else [(path, entry)]
    return found
