"""Interfaces given by name where a number (ifIndex) is due: takes the number a name ends in, if that is safe."""

from __future__ import annotations

import re

import numpy as np

from capture.ingest_log import IngestLog
from datamodel.frame import Frame

COLUMNS = ("in_if", "out_if")
_ONE_NUMBER = re.compile(r"\D+(\d{1,9})")  # "eth4" and "Ethernet12", but not "Ethernet1/4"


def resolve_interfaces(frame: Frame, names: tuple[str, ...], ingest_log: IngestLog) -> Frame:
    """Flow records whose interface columns hold numbers only.

    A name that ends in its only number stands for that number unless another name of the same exporter ends in the
    same one ("eth4" and "po4"). All others become 0, unknown. Both are counted in warnings.

    Args:
        frame: rows of `FLOWS` where -1 - i in an interface column stands for `names[i]`.
        names: the names.
        ingest_log: receives what was guessed and what was dropped.
    """
    matches = [_ONE_NUMBER.fullmatch(name) for name in names]
    number = np.array([int(match[1]) if match else 0 for match in matches], np.int64)
    rows = np.concatenate([frame[c] for c in COLUMNS])
    exporter = np.concatenate([frame["sampler_address"].astype(np.int64)] * 2)
    place = np.flatnonzero(rows < 0)
    pairs, pair_of_row = np.unique(np.stack([exporter[place], -1 - rows[place]], axis=1), axis=0, return_inverse=True)
    meant = number[pairs[:, 1]]
    _, claim, claims = np.unique(
        np.stack([pairs[:, 0], meant], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    meant[claims[claim.ravel()] > 1] = 0
    rows[place] = meant[pair_of_row.ravel()]
    known = int((rows[place] > 0).sum())
    if known:
        ingest_log.warn(f"{known} interfaces are given by name; their numbers are those the names end in")
    if known < len(place):
        ingest_log.warn(f"{len(place) - known} interfaces are given by names without a clear number; taken as unknown")
    return frame.replace(in_if=rows[: len(frame)], out_if=rows[len(frame) :])
