"""`flowprism compact`, as it is typed; what it does is in `flowprism.cli.actions.service.compact`."""

from __future__ import annotations

from typing import Annotated

import typer


def compact(
    lake: Annotated[str, typer.Argument(metavar="LAKE", help="A folder written by `collect`, or s3://BUCKET/PREFIX.")],
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=AGE[,SIZE]", help="Maximum age and total size of one kind of records."),
    ] = None,
    forever: Annotated[bool, typer.Option("--forever", help="Keep records of the other kinds forever.")] = False,
    every: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1.0, help="Run until SIGTERM, one round every SECONDS.")
    ] = None,
) -> None:
    """Merge a lake's small segments, remove old records, and list what the lake holds."""
    from flowprism.cli.actions.service.compact import compact_lake, parse_limits

    compact_lake(lake, parse_limits(limit or [], forever=forever), every)
