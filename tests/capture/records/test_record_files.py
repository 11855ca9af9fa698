"""Flow-record files: Parquet, CSV and JSON lines."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from capture.ingest_log import IngestLog
from capture.records.record_files import read_records, write_records
from capture.records.record_writer import FORMS
from datamodel.errors import InputError
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows, recode
from tests.capture.frames import save

T = 1_714_300_000_000_054_275
ROW = {
    "time_flow_start_ns": T,
    "time_flow_end_ns": T + 5,
    "src_addr": "10.0.0.1",
    "dst_addr": "10.0.0.2",
    "bytes": 9000,
}
GOFLOW2 = {
    "type": "SFLOW_5", "time_received_ns": T + 9, "sequence_num": 3, "sampling_rate": 2048,
    "sampler_address": "192.0.2.1", "time_flow_start_ns": T, "time_flow_end_ns": T, "bytes": 1500, "packets": 1,
    "src_addr": "2001:DB8::1", "dst_addr": "::ffff:10.0.0.2", "etype": "IPv4", "proto": "TCP", "src_port": 40000,
    "dst_port": 443, "in_if": 10, "out_if": 11, "ip_tos": 2, "tcp_flags": 24, "observation_domain_id": 7,
    "as_path": [], "layer_stack": ["Ethernet", "IPv4"],
}  # fmt: skip


def jsonl(folder: Path, *rows: object, name: str = "flows.jsonl") -> Path:
    """Rows as JSON lines; a text stands for itself."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return save(folder, "".join(line + "\n" for line in lines).encode(), name)


def read(path: Path) -> tuple[Flows, IngestLog]:
    """The records of a file and what reading it left to say."""
    ingest_log = IngestLog()
    return read_records(path, ingest_log), ingest_log


def columns(flows: Flows, *names: str) -> list[tuple[int, ...]]:
    """Rows of some columns."""
    return [tuple(int(v) for v in row) for row in zip(*(flows.frame[name] for name in names), strict=True)]


def sample(rows: int = 500) -> Flows:
    """Records with every column filled, some addresses unknown."""
    chance = np.random.default_rng(7)
    values = {
        c.name: chance.integers(0, 2 if c.dtype == "?" else 100, rows).astype(c.dtype)
        for c in FLOWS
        if c.name not in ("src_addr", "dst_addr", "sampler_address")
    }
    values["time_flow_start_ns"] = T + chance.integers(0, 10**9, rows)
    values["time_flow_end_ns"] = values["time_flow_start_ns"] + 7
    values["sampler_address"] = chance.integers(-1, 2, rows)
    values |= {c: chance.integers(0, 4, rows) for c in ("src_addr", "dst_addr")}
    return recode(Frame(FLOWS, values), ("10.0.0.1", 'leaf "1"', "2001:db8::1", "10.0.0.9"))


@pytest.mark.parametrize("form", FORMS)
def test_round_trip(tmp_path: Path, form: str) -> None:
    """What is written is read back equal, in every form, and the same records give the same bytes."""
    flows = sample()
    names = [i for i, a in enumerate(flows.addresses) if a.startswith("leaf")]
    keep = ~np.isin(flows.frame["src_addr"], names) & ~np.isin(flows.frame["dst_addr"], names)
    flows = recode(flows.frame.take(keep), flows.addresses)
    path = tmp_path / f"flows{form}"
    write_records(flows, path)
    back, ingest_log = read(path)
    assert (ingest_log.rejected, ingest_log.warnings) == ({}, [])
    assert back.addresses == flows.addresses
    for name in FLOWS.names:
        assert (back.frame[name] == flows.frame[name]).all(), name
    once = path.read_bytes()
    write_records(flows, path)
    assert path.read_bytes() == once


def test_unknown_ending_is_not_written(tmp_path: Path) -> None:
    """The form of what is written is not guessed."""
    with pytest.raises(InputError, match=r"flows\.txt: no form of flow records has such a name"):
        write_records(sample(1), tmp_path / "flows.txt")


def test_goflow2_dump_loads_as_it_is(tmp_path: Path) -> None:
    """Text enums, IPv4-mapped addresses and extra columns of a GoFlow2 dump are understood; the extras are named."""
    flows, ingest_log = read(jsonl(tmp_path, GOFLOW2, GOFLOW2 | {"proto": "UDP"}, GOFLOW2 | {"proto": "IPv6-ICMP"}))
    assert flows.addresses == ("10.0.0.2", "192.0.2.1", "2001:db8::1")
    assert columns(flows, "src_addr", "dst_addr", "sampler_address", "proto", "sampling_rate", "in_if")[0] == (
        2, 0, 1, 6, 2048, 10,
    )  # fmt: skip
    assert flows.frame["proto"].tolist() == [6, 17, 58]
    assert ingest_log.warnings == [
        "flows.jsonl: columns ignored: as_path, etype, layer_stack, sequence_num",
        "flows.jsonl: 3 rows of sFlow count the bytes of whole frames, link header and checksum included",
    ]


def test_objects_that_share_a_line(tmp_path: Path) -> None:
    """GoFlow2 under load writes objects side by side and their line ends behind them; none is lost, broken or not."""
    row = json.dumps(GOFLOW2)
    whole, _ = read(jsonl(tmp_path, row + row, "", row))
    assert len(whole) == 3
    beside, ingest_log = read(jsonl(tmp_path, row + row, "", "{nonsense", row))
    assert (len(beside), dict(ingest_log.rejected)) == (3, {"row: not a JSON object": 1})


def test_dates_that_goflow2_renders(tmp_path: Path) -> None:
    """Times are also understood as dates with a zone, which GoFlow2 prints on request; without one they are refused."""
    dated = ROW | {
        "time_flow_start_ns": "2026-11-20T15:25:48.391000001Z",
        "time_flow_end_ns": "2026-11-20T16:25:49+01:00",
    }
    flows, ingest_log = read(jsonl(tmp_path, dated, dated | {"time_flow_start_ns": "2026-11-20T15:25:48"}))
    start = 1_795_188_348_391_000_001
    assert columns(flows, "time_flow_start_ns", "time_flow_end_ns") == [(start, 1_795_188_349_000_000_000)]
    assert ingest_log.rejected == {"row: time_flow_start_ns is not a whole number": 1}


def test_only_five_columns_are_required(tmp_path: Path) -> None:
    """All other columns take their declared defaults."""
    flows, _ = read(jsonl(tmp_path, ROW))
    for column in FLOWS:
        assert column.required or flows.frame[column.name].tolist() == [column.default]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("missing", list(ROW))
def test_missing_required_column_is_named(tmp_path: Path, form: str, missing: str) -> None:
    """Without one of the five the file is refused, in one line that names file and column."""
    row = {k: v for k, v in ROW.items() if k != missing}
    path = tmp_path / f"flows.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist([row]), path)
    elif form == "jsonl":
        jsonl(tmp_path, row)
    else:
        path.write_text(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n")
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value) == f"{path}: required column {missing!r} is missing"


BAD: dict[str, dict[str, object]] = {
    "ends before it starts": {"time_flow_end_ns": T - 1},
    "bytes is negative": {"bytes": -1},
    "src_addr is not an address": {"src_addr": "10.0.0.256"},
    "dst_addr is missing": {"dst_addr": None},
    "bytes is missing": {"bytes": None},
    "src_port is out of range": {"src_port": 70000},
    "packets is negative": {"packets": -3},
}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_bad_rows_are_rejected_and_counted(tmp_path: Path, form: str) -> None:
    """Each bad row is left out under its own reason; the others are kept."""
    rows: list[dict[str, object]] = [{**ROW, "src_port": 1, "packets": 2}]
    rows += [rows[0] | change for change in BAD.values()]
    rows.append(rows[0] | {"src_port": 2})
    path = tmp_path / f"flows.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "jsonl":
        jsonl(tmp_path, *rows)
    else:
        lines = [",".join(rows[0])] + [",".join("" if v is None else str(v) for v in row.values()) for row in rows]
        path.write_text("\n".join(lines))
    flows, ingest_log = read(path)
    assert flows.frame["src_port"].tolist() == [1, 2]
    assert ingest_log.rejected == {f"row: {reason}": 1 for reason in BAD}


def test_broken_json_lines_cost_only_themselves(tmp_path: Path) -> None:
    """Lines that are no object, and values of another type than before, do not spoil their neighbours."""
    odd = ROW | {"bytes": "12", "proto": 17}
    flows, ingest_log = read(jsonl(tmp_path, ROW | {"proto": "TCP"}, "{nonsense", odd, "[1]", ROW | {"bytes": "many"}))
    assert columns(flows, "bytes", "proto") == [(9000, 6), (12, 17)]
    assert ingest_log.rejected == {"row: not a JSON object": 2, "row: bytes is not a whole number": 1}


def test_broken_csv_lines_cost_only_themselves(tmp_path: Path) -> None:
    """Rows with too many or too few fields are counted; spaces, quotes and a byte order mark do no harm."""
    header = "\ufeff" + ", ".join(ROW)
    good = f'{T}, {T + 5},"10.0.0.1", 10.0.0.2 ,9000'
    path = save(tmp_path, "\n".join([header, good, "1,2,3", good + ",6", good]).encode(), "flows.csv")
    flows, ingest_log = read(path)
    assert flows.frame["bytes"].tolist() == [9000, 9000]
    assert ingest_log.rejected == {"row: wrong number of columns": 2}


def test_bytes_that_are_no_text_cost_only_their_row(tmp_path: Path) -> None:
    """A value that is not UTF-8 is no address, and nothing else is lost."""
    good = f"{T},{T + 5},10.0.0.1,10.0.0.2,9000\n".encode()
    bad = good.replace(b"10.0.0.1", b"\xff\xfe")
    line = json.dumps(ROW).encode() + b"\n"
    spoiled = line.replace(b"10.0.0.1", b"10.0.\xff.1")
    assert spoiled != line
    for content, name in (
        (",".join(ROW).encode() + b"\n" + good + bad + good, "flows.csv"), (line + spoiled + line, "flows.jsonl")
    ):  # fmt: skip
        flows, ingest_log = read(save(tmp_path, content, name))
        assert len(flows) == 2
        assert ingest_log.rejected == {"row: src_addr is not an address": 1}


def test_interface_names(tmp_path: Path) -> None:
    """A name stands for the number it ends in unless another of the same exporter does too; all is told."""

    def seen(exporter: str, name: object) -> dict[str, object]:
        return {**ROW, "sampler_address": exporter, "in_if": name}

    rows = [seen("leaf1", "eth4"), seen("leaf2", "eth4"), seen("leaf2", "po4"), seen("leaf1", "Ethernet1/7"),
            seen("leaf1", "12"), seen("leaf1", "mgmt")]  # fmt: skip
    flows, ingest_log = read(jsonl(tmp_path, *rows))
    assert flows.frame["in_if"].tolist() == [4, 0, 0, 0, 12, 0]
    assert ingest_log.warnings == [
        "1 interfaces are given by name; their numbers are those the names end in",
        "4 interfaces are given by names without a clear number; taken as unknown",
    ]


def test_unknown_protocol_name_is_told(tmp_path: Path) -> None:
    """A protocol whose name is not known is unknown, and counted."""
    flows, ingest_log = read(jsonl(tmp_path, ROW | {"proto": "TCP"}, ROW | {"proto": "Frobnicate"}))
    assert flows.frame["proto"].tolist() == [6, 0]
    assert ingest_log.warnings == ["1 rows have a proto of unknown name; taken as unknown"]


def test_parquet_types_of_other_writers(tmp_path: Path) -> None:
    """Timestamps, dictionaries, unsigned and floating numbers, and names of exporters are understood."""
    table = pa.table({
        "time_flow_start_ns": pa.array([T // 1000, T // 1000], pa.timestamp("us", "UTC")),
        "time_flow_end_ns": pa.array([T + 10**6, T + 10**6], pa.uint64()),
        "src_addr": pa.array(["10.0.0.1", "10.0.0.1"]).dictionary_encode(),
        "dst_addr": pa.array(["10.0.0.2", "10.0.0.3"], pa.large_string()),
        "bytes": pa.array([10.0, 10.5]),
        "sampler_address": pa.array(["leaf-1", "leaf-1"]),
    })  # fmt: skip
    path = tmp_path / "flows.parquet"
    pq.write_table(table, path)
    flows, ingest_log = read(path)
    assert columns(flows, "time_flow_start_ns", "bytes") == [(T // 1000 * 1000, 10)]
    assert flows.addresses == ("10.0.0.1", "10.0.0.2", "leaf-1")
    assert ingest_log.rejected == {"row: bytes is not a whole number": 1}


def test_damaged_parquet_is_one_line(tmp_path: Path) -> None:
    """A Parquet file cut short is refused in one line."""
    path = tmp_path / "flows.parquet"
    pq.write_table(pa.Table.from_pylist([ROW] * 100), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: damaged Parquet file: ")
    assert "\n" not in str(error.value)


def test_rows_across_blocks(tmp_path: Path) -> None:
    """A file of many blocks loses no row at their borders."""
    rows = [json.dumps(ROW | {"bytes": i, "src_addr": f"10.0.{i % 250}.1"}) for i in range(30_000)]
    flows, ingest_log = read(save(tmp_path, "\n".join(rows).encode(), "flows.jsonl"))
    assert flows.frame["bytes"].tolist() == list(range(30_000))
    assert [flows.addresses[c] for c in flows.frame["src_addr"][:3]] == ["10.0.0.1", "10.0.1.1", "10.0.2.1"]
    assert ingest_log.rejected == {}
