"""`flowprism keep`, as it is typed; what it does is in `flowprism.cli.keeping`."""

from __future__ import annotations

from typing import Annotated

import typer


def keep(
    lake: Annotated[str, typer.Argument(metavar="LAKE", help="A folder that `collect` writes, or s3://BUCKET/PREFIX.")],
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=AGE[,SIZE]", help="Keep records of a kind so long, and so many bytes of them."),
    ] = None,
    forever: Annotated[bool, typer.Option("--forever", help="Keep everything that no --limit names.")] = False,
    every: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1.0, help="Go on until SIGTERM, a round so often.")
    ] = None,
) -> None:
    """Pack a lake's small segments, remove what is too old, and say what it holds."""
    from flowprism.cli import keeping

    keeping.run(lake, keeping.limits(limit or [], forever=forever), every)
