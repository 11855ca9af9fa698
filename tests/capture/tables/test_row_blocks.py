"""Blocks become columns; the memory of a mostly full one is given away, that of others is used again."""

from __future__ import annotations

import numpy as np

from capture.tables.row_blocks import BlockWriter
from datamodel.telemetry.flows import FLOWS

COLUMNS = ("bytes", "src_port")


def test_what_was_taken_is_not_overwritten() -> None:
    """Whether few rows were taken or many, later ones leave them alone."""
    for rows in (3, 9):
        writer = BlockWriter(FLOWS, COLUMNS, 10)
        writer.blocks[0]["bytes"][:rows] = np.arange(rows)
        taken = writer.taken(rows)
        writer.blocks[0]["bytes"][:] = 77
        assert taken["bytes"].tolist() == list(range(rows))
        assert taken["src_port"].dtype == np.uint16
        assert set(taken) == set(COLUMNS)


def test_a_sparse_block_is_used_again() -> None:
    """Few rows are copied out of the block, so that they do not keep its whole memory."""
    writer = BlockWriter(FLOWS, COLUMNS, 10)
    first = writer.blocks
    assert writer.taken(2)["bytes"].base is None
    assert writer.blocks is first
