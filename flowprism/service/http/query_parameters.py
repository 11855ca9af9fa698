"""Parameters that several routes take, with their bounds: what is within them, no database trips over."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

MOST_NS = 4_102_444_800 * 10**9  # the year 2100
_PLAIN = r"^[^\x00]*$"  # PostgreSQL keeps no NUL

Time = Annotated[int, Field(ge=0, le=MOST_NS)]
SentTime = Annotated[int, Field(ge=0, le=MOST_NS, strict=True)]  # in a body, where true and "1" are no numbers
Name = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
PathTime = Annotated[int, Path(ge=0, le=MOST_NS, description="ns UTC")]
Text = Annotated[str, Field(max_length=200, pattern=_PLAIN)]
LongText = Annotated[str, Field(max_length=4000, pattern=_PLAIN)]
Cursor = Annotated[str | None, Field(max_length=1000, description="`next` of the page before")]


class Parameters(BaseModel):
    """Query parameters; one that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PageParameters(Parameters):
    """Which page of many."""

    cursor: Cursor = None
    limit: int = Field(default=100, ge=1, le=500, description="how many on a page at most")


class Span(Parameters):
    """A stretch of time, UTC."""

    start_ns: Time = Field(default=0, description="its begin, ns UTC")
    end_ns: Time = Field(default=MOST_NS, description="its end, ns UTC; what begins then is outside")
