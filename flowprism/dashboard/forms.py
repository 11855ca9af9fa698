"""What a form of ours sends, as browsers send it without scripts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import Depends, HTTPException, Request
from fastapi.responses import RedirectResponse

from flowprism.service.access.refusals import local_path

MOST_TEXT = 4000
_MOST_BYTES = 60_000


class Fields:
    """The fields of a form, each with its last value, without what no text holds."""

    def __init__(self, values: dict[str, str]) -> None:
        """Take them as they came."""
        self._values = values

    def text(self, name: str, most: int = MOST_TEXT) -> str:
        """A field's text without space around it; "" where it is missing.

        Raises:
            HTTPException: 400, it is too long.
        """
        value = self._values.get(name, "").replace("\0", "").replace("\r\n", "\n").strip()
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
    try:
        values = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise HTTPException(400, "this is no form of ours") from None
    return Fields({name: given[-1] for name, given in values.items()})


Form = Annotated[Fields, Depends(fields)]


def back(form: Fields, usual: str) -> RedirectResponse:
    """On to the page that the form names, or to the usual one."""
    return RedirectResponse(local_path(form.text("back", 500) or usual), 303)


def part(text: str) -> str:
    """A name as part of a path."""
    return quote(text, safe="")
