"""The pair table of one job as an Arrow table, with text where the frame holds codes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from datamodel.frame import Frame
from datamodel.reconstructed.transfers import ROLES

_MAYBE_UNKNOWN = ("rate_bps", "late_ratio", "bytes_error", "rate_error_bps")


def pairs_to_arrow(frame: Frame, book: Sequence[str]) -> pa.Table:
    """Pairs (`datamodel.reconstructed.transfers.PAIRS`) with their names; what is not known is null.

    Args:
        frame: the rows; further columns are left out.
        book: text of the codes of senders and receivers.
    """
    texts, roles = pa.array(book, pa.string()), pa.array(ROLES, pa.string())
    columns = {
        "src": texts.take(pa.array(frame["src"])),
        "dst": texts.take(pa.array(frame["dst"])),
        "role": roles.take(pa.array(frame["role"])),
        "bytes": pa.array(frame["bytes"]),
        "transfers": pa.array(frame["transfers"], mask=frame["transfers"] == 0),
        **{name: pa.array(frame[name], from_pandas=True) for name in _MAYBE_UNKNOWN},
    }
    return pa.table(columns)
