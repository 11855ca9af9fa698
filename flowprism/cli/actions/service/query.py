"""One query from the command line: run it over lakes and results, print or write the answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich import box
from rich.console import Console
from rich.table import Table

from datamodel.errors import InputError
from flowprism.cli.output_errors import name_output_errors
from storage.database.connection import Database, is_there
from storage.sql_query import run_query

_PLAIN_COLUMNS = 160


def print_answer(sql: str, lakes: Sequence[Path], results: str | None, out: Path | None) -> None:
    """Print the answer as a table, or write it as CSV or Parquet.

    Raises:
        InputError: the query cannot be run, there is nothing to ask, or the output cannot be written.
    """
    if out is not None and out.suffix not in {".csv", ".parquet"}:
        raise InputError(f"{out}: answers are written as .csv or .parquet")
    if not lakes and results is None:
        raise InputError("query: nothing to ask: give --lake or --results")
    if results is not None and not is_there(results):
        raise InputError(f"{results}: there is no such database")
    answer = run_query(sql, lakes, None if results is None else Database(results))
    with name_output_errors("stdout" if out is None else out):
        if out is None:
            _print(answer)
        elif out.suffix == ".csv":
            pyarrow.csv.write_csv(answer, out)
        else:
            pyarrow.parquet.write_table(answer, out, compression="zstd")


def _print(answer: pa.Table) -> None:
    table = Table(*answer.column_names, box=box.SIMPLE_HEAD)
    for row in zip(*(column.to_pylist() for column in answer.columns), strict=True):
        table.add_row(*("" if value is None else str(value) for value in row))
    Console(width=None if sys.stdout.isatty() else _PLAIN_COLUMNS, highlight=False, markup=False).print(table)
