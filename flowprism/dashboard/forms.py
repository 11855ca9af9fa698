"""What a form of ours sends, as browsers send it without scripts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import Depends, HTTPException, Request
from fastapi.responses import RedirectResponse

from flowprism.service.access.denied_responses import local_path

MOST_TEXT = 4000
_MOST_BYTES = 60_000


class Fields:
    """The fields of a form; each may have come several times."""

    def __init__(self, values: dict[str, list[str]]) -> None:
        """Take them as they came."""
        self._values = values

    def raw(self, name: str) -> str:
        """A field's last value as it was written: a password may begin with a blank; "" where it is missing."""
        return (self._values.get(name) or [""])[-1]

    def every(self, name: str) -> tuple[str, ...]:
        """All values of a field, as check boxes send them."""
        return tuple(self._values.get(name, ()))

    def text(self, name: str, most: int = MOST_TEXT) -> str:
        """A field's last value without space around it and without what no text holds; "" where it is missing.

        Raises:
            HTTPException: 400, it is too long.
        """
        value = self.raw(name).replace("\0", "").replace("\r\n", "\n").strip()
        if len(value) > most:
            raise HTTPException(400, f"{name}: more than {most:,} characters")
        return value

    def needed(self, name: str, what: str) -> str:
        """A field that must say something.

        Raises:
            HTTPException: 400, it does not.
        """
        value = self.text(name)
        if not value:
            raise HTTPException(400, what)
        return value


async def fields(request: Request) -> Fields:
    """The form that was sent.

    Raises:
        HTTPException: 400, it is none; 413, it is too long.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, "the form is too long")
    return _fields(body)


async def long_fields(request: Request) -> Fields:
    """The form that was sent, as long as the door lets it be: it may bring a whole file.

    Raises:
        HTTPException: 400, it is none.
    """
    return _fields(await request.body())


def _fields(body: bytes) -> Fields:
    try:
        return Fields(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "this is no form of ours") from None


Form = Annotated[Fields, Depends(fields)]
LongForm = Annotated[Fields, Depends(long_fields)]


def back(form: Fields, usual: str) -> RedirectResponse:
    """On to the page that the form names, or to the usual one."""
    return RedirectResponse(local_path(form.text("back", 500) or usual), 303)


def part(text: str) -> str:
    """A name as part of a path."""
    return quote(text, safe="")
