"""Files of any size become flow records piece by piece: the same records as all at once."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from capture import piecewise_reader
from capture.ingest_log import IngestLog
from capture.piecewise_reader import iter_flows
from capture.reader import read_all, read_flows
from capture.records.record_writer import write_pieces, write_records
from datamodel.errors import InputError
from datamodel.telemetry.flows import ADDRESS_COLUMNS, Flows
from tests.capture.frames import erspan2, pcap, save, tcp_frame

DATA = Path(__file__).parents[1] / "data" / "collectors"
EXPORTS = ("sflow.pcap", "netflow5.pcap", "nf9.pcap", "ipfix.pcap")
T = 1_700_000_000 * 10**9


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of ten records and what a batch adds."""
    monkeypatch.setattr(piecewise_reader, "PIECE_RECORDS", 10)


def mirror(folder: Path) -> Path:
    """Four hundred packets of four connections over forty seconds."""
    frames = [erspan2(tcp_frame(1 + n * 100, 100), f"192.0.2.{n % 4 + 1}", 5) for n in range(400)]
    return save(folder, pcap([(T + n * 10**8, frame) for n, frame in enumerate(frames)]))


def rows(*parts: Flows) -> list[tuple[object, ...]]:
    """Records as tuples, addresses as text, in their order."""
    found: list[tuple[object, ...]] = []
    for flows in parts:
        book = np.array([*flows.addresses, None], object)
        columns = [book[v] if n in ADDRESS_COLUMNS else v for n, v in flows.frame.columns().items()]
        found.extend(zip(*(column.tolist() for column in columns), strict=True))
    return found


@pytest.mark.usefixtures("small_pieces")
def test_export_captures_come_in_pieces() -> None:
    """Several files give the records of all of them in their order, and the same account."""
    paths, ingest_log = [DATA / name for name in EXPORTS], IngestLog()
    pieces = list(iter_flows(paths, ingest_log))
    whole = read_all(paths)
    assert len(pieces) > len(paths)
    assert rows(*pieces) == rows(whole.flows)
    assert ingest_log.notes() == whole.notes


@pytest.mark.usefixtures("small_pieces")
def test_a_mirror_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of a mirror are the same, each once."""
    monkeypatch.setattr("capture.files.capture_file.BATCH_FRAMES", 32)
    path, ingest_log = mirror(tmp_path), IngestLog()
    pieces = list(iter_flows([path], ingest_log))
    whole = read_flows(path)
    assert len(pieces) > 3
    assert Counter(rows(*pieces)) == Counter(rows(whole.flows))
    assert ingest_log.notes() == whole.notes


def test_flow_records_are_one_piece(tmp_path: Path) -> None:
    """A table of flow records is read as it is."""
    whole = read_flows(DATA / "ipfix.pcap").flows
    write_records(whole, tmp_path / "flows.csv")
    (piece,) = iter_flows([tmp_path / "flows.csv"], IngestLog())
    assert rows(piece) == rows(whole)


def test_bytes_read_are_told_over_all_files() -> None:
    """Progress goes up to the sum of the files' sizes."""
    paths, told = [DATA / name for name in EXPORTS], list[tuple[int, int]]()
    list(iter_flows(paths, IngestLog(), lambda done, total: told.append((done, total))))
    size = sum(path.stat().st_size for path in paths)
    assert told[-1] == (size, size)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    ("form", "unpack"), [("parquet", bytes), ("csv", bytes), ("jsonl.gz", gzip.decompress), ("jsonl.zst", bytes)]
)
def test_pieces_are_written_as_one_file(tmp_path: Path, form: str, unpack: Callable[[bytes], bytes]) -> None:
    """The file reads back as the records, and holds the columns it would hold had they come at once."""
    whole, written = read_flows(DATA / "sflow.pcap").flows, tmp_path / f"pieces.{form}"
    count = write_pieces(iter_flows([DATA / "sflow.pcap"], IngestLog()), written)
    assert count == len(whole)
    assert rows(read_flows(written).flows) == rows(whole)
    write_records(whole, tmp_path / f"whole.{form}")
    if form != "parquet":  # whose groups of rows are the pieces
        assert unpack(written.read_bytes()) == unpack((tmp_path / f"whole.{form}").read_bytes())
    assert len(list(tmp_path.iterdir())) == 2


def test_an_input_that_ends_in_an_error_leaves_no_output(tmp_path: Path) -> None:
    """What cannot be read is told by its name, and nothing was written."""
    with pytest.raises(InputError, match="missing"):
        write_pieces(
            iter_flows([DATA / "sflow.pcap", tmp_path / "missing.pcap"], IngestLog()), tmp_path / "out.parquet"
        )
    assert list(tmp_path.iterdir()) == []
