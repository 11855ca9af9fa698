"""Forms as browsers send them without a script."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Depends, HTTPException, Request

_MOST_FIELDS = 50


class Fields:
    """The fields of a form; each may have come several times."""

    def __init__(self, values: dict[str, list[str]]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """The last value of a field without blanks around it; "" where it did not come."""
        return self.raw(name).strip()

    def raw(self, name: str) -> str:
        """The same as it was written: a password may begin with a blank."""
        return (self._values.get(name) or [""])[-1]

    def every(self, name: str) -> tuple[str, ...]:
        """All values of a field, as check boxes send them."""
        return tuple(self._values.get(name, ()))


async def fields(request: Request) -> Fields:
    """The fields of the form that a request brings; how much it may bring is bounded at the door.

    Raises:
        HTTPException: 400, it is no form.
    """
    try:
        text = (await request.body()).decode()
        return Fields(parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(400, "this is no form that a page of ours sends") from None


Form = Annotated[Fields, Depends(fields)]
