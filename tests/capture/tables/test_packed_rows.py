"""Rows of tables as text."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from capture.exporters.exporter_table import EXPORTER
from capture.tables.packed_rows import pack_rows, unpack_rows


def test_rows_come_back() -> None:
    """None, and those of a large table: which takes a thousandth of its size, being zeros mostly."""
    for count in (0, 65_536):
        rows = np.zeros(count, EXPORTER)
        rows["domain"] = np.arange(count)
        packed = pack_rows(rows)
        assert (unpack_rows(packed, EXPORTER) == rows).all()
        assert len(packed) < 1000 + rows.nbytes // 100


@pytest.mark.parametrize("text", ["", "%", base64.b64encode(b"plain").decode(), pack_rows(np.zeros(3, np.uint8))])
def test_damage_is_a_value_error(text: str) -> None:
    """Also where the text holds rows of another type."""
    with pytest.raises(ValueError):  # noqa: PT011 - several libraries' words
        unpack_rows(text, EXPORTER)
