"""`flowprism query`, as it is typed; what it does is in `flowprism.cli.actions.service.query`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT.")],
    lake: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="A collected folder, or what scans keep; repeatable.")
    ] = None,
    results: Annotated[str | None, typer.Option(metavar="ADDRESS", help="The results database.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to .csv or .parquet, not to stdout.")] = None,
) -> None:
    """Ask what is kept in SQL: flow records, spans, iterations, jobs, incidents.

    The statement reads these tables and nothing else; it changes nothing.
    """
    from flowprism.cli.actions.service.query import print_answer  # here, so that `--help` need not wait for the rest

    print_answer(sql, lake or [], results, out)
