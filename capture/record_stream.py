"""Any input to flow records piece by piece, so that a file of any size takes the memory of a piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from capture.capture_file import Batch
from capture.datagram import Datagrams
from capture.exports import Decoded, Exports
from capture.input_file import ExportFile, MirrorFile, opened
from capture.ledger import Ledger
from capture.mirror import SETTLED_NS, Mirror
from capture.reading import read_records, shifted
from capture.sampling import SamplingRates
from capture.stream import Progress
from datamodel.flows import Flows

PIECE_RECORDS = 1 << 16  # some 10 MB, and several times that as Arrow columns


def flow_pieces(
    paths: Sequence[Path], ledger: Ledger, progress: Progress | None = None, rates: SamplingRates | None = None
) -> Iterator[Flows]:
    """The flow records of files, one after the other; those of `capture.reading.read_flows`.

    Pieces have about `PIECE_RECORDS` records and those of one batch of packets; flow-record files are one piece each.
    In a mirror of several pieces records come in the order of their ends, and know of acknowledgements and queue pairs
    only what was seen until `SETTLED_NS` later.

    Args:
        paths: the files.
        ledger: told what was left out or guessed.
        progress: called with (bytes of all files read, bytes of all files), from a thread.
        rates: sampling rates of exporters that tell none or a wrong one.

    Raises:
        InputError: a file cannot be used at all; the message names it and the cause, in one line.
    """
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    for path, start in zip(paths, accumulate(sizes, initial=0), strict=False):
        yield from _pieces(path, ledger, shifted(progress, start, sum(sizes)), rates)


def _pieces(path: Path, ledger: Ledger, progress: Progress | None, rates: SamplingRates | None) -> Iterator[Flows]:
    file = opened(path, ledger, progress)
    if isinstance(file, MirrorFile):
        return _of_mirror(file.packets, ledger)
    if isinstance(file, ExportFile):
        return _of_exports(file.datagrams, ledger, rates)
    return iter([read_records(path, file, ledger, progress)])


def _of_mirror(parts: Iterable[Batch], ledger: Ledger) -> Iterator[Flows]:
    mirror, enough, newest_ns = Mirror(), PIECE_RECORDS, 0
    for part in parts:
        mirror.feed(part.packets)
        newest_ns = max(newest_ns, int(part.packets["time_ns"].max(initial=0)))
        if len(mirror) >= enough:
            yield mirror.take(newest_ns - SETTLED_NS)
            enough = len(mirror) + PIECE_RECORDS
    mirror.account(ledger)
    yield mirror.flows()


def _of_exports(parts: Iterable[Datagrams], ledger: Ledger, rates: SamplingRates | None) -> Iterator[Flows]:
    exports = Exports(rates)
    for piece in decoded_pieces(parts, exports):
        yield piece.canonical_flows()
    exports.account(ledger)


def decoded_pieces(parts: Iterable[Datagrams], exports: Exports) -> Iterator[Decoded]:
    """What a decoder that has decoded nothing yet makes of batches of datagrams, piece by piece."""
    taken = 0
    for part in parts:
        exports.feed(part)
        if exports.records - taken >= PIECE_RECORDS:
            taken = exports.records
            yield exports.take()
    yield exports.take()
