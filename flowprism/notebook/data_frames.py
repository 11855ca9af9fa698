"""Arrow tables of the declared columns as pandas data frames, column by column."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pyarrow as pa

from datamodel.errors import MissingExtraError
from flowprism.notebook.columns import FrameColumns

if TYPE_CHECKING:
    import pandas as pd


def require(library: str) -> None:
    """Check that a library of the extra is there.

    Raises:
        MissingExtraError: it is not.
    """
    try:
        import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise MissingExtraError(f"{library} is not installed: pip install 'flowprism[notebook]'") from None


def to_frame(table: pa.Table, declared: FrameColumns) -> pd.DataFrame:
    """The data frame of a table of the declared columns.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    require("pandas")
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype()}.get
    columns = {
        column.name: table[column.name].to_pandas(types_mapper=nullable if column.dtype == "Int64" else None)
        for column in declared.columns
    }
    return pd.DataFrame(columns)
