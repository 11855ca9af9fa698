"""Any input to flow records piece by piece, so that a file of any size takes the memory of a piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from capture.configured_rates import SamplingRates
from capture.export_decoder import Decoded, ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.files.capture_file import Batch
from capture.files.decompression import Progress
from capture.files.input_file import ExportFile, MirrorFile, open_input
from capture.ingest_log import IngestLog
from capture.mirror.mirror import SETTLED_NS
from capture.mirror.mirror_files import MirrorFiles
from capture.reader import iter_records, shifted
from datamodel.telemetry.flows import Flows

PIECE_RECORDS = 1 << 16  # some 10 MB, and several times that as Arrow columns


def iter_flows(
    paths: Sequence[Path], ingest_log: IngestLog, progress: Progress | None = None, rates: SamplingRates | None = None
) -> Iterator[Flows]:
    """The flow records of files, one after the other; those of `capture.reader.read_all`.

    Pieces have about `PIECE_RECORDS` records and those of one batch of packets. GoFlow2's protobuf dumps are one piece
    each, as are the records of a file from the first interface that is given by name.
    In a mirror of several pieces records come in the order of their ends, and know of acknowledgements and queue pairs
    only what was seen until `SETTLED_NS` later.

    Args:
        paths: the files.
        ingest_log: receives what was rejected or guessed.
        progress: called with (bytes of all files read, bytes of all files), from a thread.
        rates: sampling rates of exporters that send none or a wrong one.

    Raises:
        InputError: a file cannot be used at all; the message names it and the cause, in one line.
    """
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    exports, mirrors = ExportDecoder(rates), MirrorFiles()
    for path, start in zip(paths, accumulate(sizes, initial=0), strict=False):
        seen = shifted(progress, start, sum(sizes))
        file = open_input(path, ingest_log, seen)
        if isinstance(file, MirrorFile):
            yield from _of_mirror(file.packets, mirrors)
        elif isinstance(file, ExportFile):
            for piece in decoded_pieces(file.datagrams, exports):
                yield piece.canonical_flows()
        else:
            yield from iter_records(path, file, ingest_log, seen, PIECE_RECORDS)
    mirrors.account(ingest_log)
    for mirror in mirrors.mirrors:
        yield mirror.flows()
    if exports.datagrams:
        exports.account(ingest_log)


def _of_mirror(parts: Iterable[Batch], mirrors: MirrorFiles) -> Iterator[Flows]:
    enough = PIECE_RECORDS
    for mirror in mirrors.follow(parts):
        if len(mirror) >= enough:
            yield mirror.take(mirrors.newest_ns - SETTLED_NS)
            enough = len(mirror) + PIECE_RECORDS


def decoded_pieces(parts: Iterable[Datagrams], exports: ExportDecoder) -> Iterator[Decoded]:
    """What a decoder whose records have all been taken makes of batches of datagrams, piece by piece."""
    taken = exports.records
    for part in parts:
        exports.feed(part)
        if exports.records - taken >= PIECE_RECORDS:
            taken = exports.records
            yield exports.take()
    yield exports.take()
