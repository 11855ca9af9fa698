"""`flowprism feeds` and `flowprism decode` as a user meets them, on what real exporters sent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from capture.reader import read_flows
from datamodel.errors import InputError
from flowprism.cli import app
from tests.capture.export_bytes import flow_sample, sflow
from tests.capture.frames import ethernet, ip, pcap, tcp, udp

DATA = Path(__file__).parents[4] / "data" / "collectors"
FRAME = ethernet(ip(6, tcp(1000, 2000, 3, 4, 16, 1000)))


def run(*arguments: str | Path) -> Result:
    """The command's result; exceptions are kept in it."""
    return CliRunner().invoke(app, [*map(str, arguments)])


def exported(path: Path, numbers: list[int]) -> Path:
    """A capture of one agent's sFlow datagrams of these sequence numbers, a second apart."""
    packets = [
        (
            (1_700_000_000 + n) * 10**9,
            ethernet(ip(17, udp(4000, 6343, sflow((flow_sample(FRAME, n, 4096, pool=4096 * n),), sequence=n)))),
        )
        for n in numbers
    ]
    path.write_bytes(pcap(packets))
    return path


def test_a_line_tells_an_exporter(tmp_path: Path) -> None:
    """Agent, protocol, what came, at which rate and sampling, and what is missing."""
    lines = run("feeds", exported(tmp_path / "sflow.pcap", [1, 2, 3, 6, 7, 8, 9, 11])).stdout.splitlines()
    assert lines[0] == "8 datagrams, 8 records, 1 exporter, over 10.0 s"
    assert lines[3].split() == [
        "10.255.0.1",
        "0",
        "sFlow",
        "v5",
        "8",
        "8",
        "1",
        "1:4096",
        "-",
        "3",
        "datagrams",
        "(27",
        "%)",
    ]


def test_what_is_missing_also_stands_in_the_report(tmp_path: Path) -> None:
    """A reading of export datagrams carries the account of each exporter."""
    (account,) = read_flows(exported(tmp_path / "sflow.pcap", [1, 2, 5])).accounts
    assert (account.lost_datagrams, account.loss_ratio) == (2, 0.4)


@pytest.mark.parametrize(
    ("name", "protocol"),
    [("sflow.pcap", "sFlow v5"), ("netflow5.pcap", "NetFlow v5"), ("nf9.pcap", "NetFlow v9"), ("ipfix.pcap", "IPFIX")],
)
def test_json_tells_every_exporter(name: str, protocol: str) -> None:
    """The document holds each exporter's whole account, and sums agree with what is decoded."""
    found = json.loads(run("feeds", DATA / name, "--format", "json").stdout)
    assert {e["protocol"] for e in found["exporters"]} == {protocol}
    assert sum(e["records"] for e in found["exporters"]) == read_flows(DATA / name).records > 0


def test_a_rate_given_by_hand_replaces_the_told_one(tmp_path: Path) -> None:
    """The records carry it, and a warning says that the exporter told another."""
    capture = exported(tmp_path / "sflow.pcap", [1, 2, 3])
    found = json.loads(run("feeds", capture, "--format", "json", "--sampling-rate", "10.255.0.1=512").stdout)
    assert found["exporters"][0]["sampling_rates"] == [512]
    assert any("another sampling rate than the configured one" in warning for warning in found["warnings"])
    run("decode", capture, "--out", tmp_path / "flows.parquet", "--sampling-rate", "512")
    assert pq.read_table(tmp_path / "flows.parquet")["sampling_rate"].to_pylist() == [512, 512, 512]


@pytest.mark.parametrize("text", ["0", "ten", "10.0.0.1=", "host=5", "-4", "1.5"])
def test_a_rate_that_is_none_is_named(text: str) -> None:
    """The complaint repeats what was typed."""
    error = run("feeds", DATA / "sflow.pcap", f"--sampling-rate={text}").exception
    assert isinstance(error, InputError)
    assert f"--sampling-rate {text}: " in str(error)


def test_a_mirror_holds_no_exports(tmp_path: Path) -> None:
    """What cannot be surveyed is refused by name and cause."""
    (tmp_path / "mirror.pcap").write_bytes(pcap([(1, FRAME)]))
    error = run("feeds", tmp_path / "mirror.pcap").exception
    assert str(error) == f"{tmp_path / 'mirror.pcap'}: holds no export datagrams (sFlow, NetFlow v5 or v9, IPFIX)"


@pytest.mark.parametrize("form", ["flows.parquet", "flows.csv", "flows.jsonl.gz"])
def test_decoded_records_read_back_as_they_were(form: str, tmp_path: Path) -> None:
    """Every form holds the records that analysis would see."""
    done = run("decode", DATA / "ipfix.pcap", DATA / "nf9.pcap", "--out", tmp_path / form)
    assert done.exit_code == 0, done.output
    there = read_flows(tmp_path / form).flows
    first, second = (read_flows(DATA / name).flows.frame for name in ("ipfix.pcap", "nf9.pcap"))
    assert there.frame["bytes"].tolist() == [*first["bytes"].tolist(), *second["bytes"].tolist()]


def test_records_go_to_stdout_as_json_lines() -> None:
    """A dash is stdout, and nothing but records stands there."""
    lines = run("decode", DATA / "netflow5.pcap", "--out", "-").stdout.splitlines()
    assert [json.loads(line)["bytes"] for line in lines] == read_flows(DATA / "netflow5.pcap").flows.frame[
        "bytes"
    ].tolist()


def test_the_wire_is_told_untouched(tmp_path: Path) -> None:
    """Fields have their standard names; sampling is not applied and times are as they were sent."""
    run("decode", DATA / "ipfix.pcap", "--wire", "--out", tmp_path / "wire.jsonl.gz")
    records = [json.loads(line) for line in gzip.decompress((tmp_path / "wire.jsonl.gz").read_bytes()).splitlines()]
    flows = [record for record in records if "octetDeltaCount" in record]
    assert len(flows) == read_flows(DATA / "ipfix.pcap").records
    assert {"protocol", "exporter", "domain", "template", "sourceIPv4Address"} <= set(flows[0])
    sampled = [
        json.loads(line) for line in run("decode", DATA / "sflow.pcap", "--wire", "--out", "-").stdout.splitlines()
    ]
    assert all(sample["agent_address"] and sample["sequence_number"] for sample in sampled)


def test_an_output_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """Names that no form has, and folders that are not there, are told before and with their name."""
    for out, arguments in (
        (tmp_path / "flows.xls", ()),
        (tmp_path / "wire.csv", ("--wire",)),
        (tmp_path / "a" / "b.csv", ()),
    ):
        error = run("decode", DATA / "sflow.pcap", "--out", out, *arguments).exception
        assert isinstance(error, InputError)
        assert str(out) in str(error)
