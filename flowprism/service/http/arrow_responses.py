"""Tables for programs: Arrow IPC streams, where a request asks for them."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
from fastapi import Request, Response
from pydantic import Field

from flowprism.service.http.responses import respond_with_etag

ARROW = "application/vnd.apache.arrow.stream"
Format = Literal["json", "arrow"]
FORMAT = Field(default=None, description="without it, what `Accept` asks for, and JSON where it asks for neither")
TABLE: dict[int | str, dict[str, Any]] = {200: {"content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}}


def wants_arrow(request: Request, asked: Format | None) -> bool:
    """Whether a table is to be an Arrow stream."""
    return asked == "arrow" if asked is not None else ARROW in request.headers.get("Accept", "")


def arrow_stream(
    request: Request, table: pa.Table, metadata: dict[str, str], headers: dict[str, str] | None = None
) -> Response:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    described = table.replace_schema_metadata(metadata)
    with pa.ipc.new_stream(sink, described.schema) as writer:
        writer.write_table(described)
    return respond_with_etag(request, sink.getvalue().to_pybytes(), ARROW, headers)
