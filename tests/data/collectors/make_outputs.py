"""Makes what lies beside it: the outputs of real collectors that were fed a few of our export datagrams.

usage: python -m tests.data.collectors.make_outputs CAPTURES

CAPTURES is a folder with sflow.pcap.gz, netflow5.pcap.gz, nf9.pcap.gz and ipfix.pcap.gz, captures of export datagrams.
Needs goflow2 (version 3), pmacct's nfacctd and sfacctd, and nfdump's nfcapd, sfcapd and nfdump. Times of arrival differ
from run to run, all else does not.
"""

from __future__ import annotations

import gzip
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import dpkt

FOLDER = Path(__file__).parent
DATAGRAMS = {"sflow": 14, "netflow5": 1, "nf9": 1, "ipfix": 24}  # of each capture that are kept
SFLOW_PORT, NETFLOW_PORT = 16343, 12055
KEYS = "peer_src_ip, src_host, dst_host, src_port, dst_port, proto, tos, tcpflags, in_iface, out_iface"


def main(captures: Path) -> None:
    """Cut the captures and run every collector over them."""
    os.environ["TZ"] = "UTC"
    for name, count in DATAGRAMS.items():
        cut(captures / f"{name}.pcap.gz", FOLDER / f"{name}.pcap", count)
    goflow2("json", "goflow2.jsonl")
    goflow2("bin", "goflow2.bin")
    pmacct("sfacctd", "sflow", "pmacct-sflow.json", "")
    pmacct("sfacctd", "sflow", "pmacct-sflow-renormalized.json", "sfacctd_renormalize: true\ntimestamps_utc: true\n")
    pmacct("nfacctd", "netflow5", "pmacct-netflow5.json", "timestamps_since_epoch: true\n")
    pmacct("nfacctd", "nf9", "pmacct-nf9.json", "timestamps_rfc3339: true\n")
    nfdump("sfcapd", ("sflow",), "nfdump-sflow.csv")
    nfdump("nfcapd", ("netflow5", "ipfix"), "nfdump-netflow.csv")


def cut(source: Path, target: Path, count: int) -> None:
    """The first datagrams of a capture, as a capture of its own."""
    with gzip.open(source, "rb") as file, target.open("wb") as out:
        reader = dpkt.pcap.Reader(file)
        writer = dpkt.pcap.Writer(out, linktype=reader.datalink(), nano=True)
        for stamp, frame in islice(reader, count):
            writer.writepkt(frame, ts=stamp)


def payloads(name: str) -> list[bytes]:
    """The UDP payloads of a capture that was cut."""
    with (FOLDER / f"{name}.pcap").open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        link = dpkt.ethernet.Ethernet if reader.datalink() == dpkt.pcap.DLT_EN10MB else dpkt.sll.SLL
        return [bytes(link(frame).data.data.data) for _, frame in reader]


def send(name: str, port: int) -> None:
    """Send the datagrams of a capture to this machine, slowly enough for any collector."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for payload in payloads(name):
            sender.sendto(payload, ("127.0.0.1", port))
            time.sleep(0.02)


@contextmanager
def running(*command: str) -> Iterator[None]:
    """A collector that is ended by an interrupt, as its operator would."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    try:
        yield
        time.sleep(1.5)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)


def goflow2(form: str, name: str) -> None:
    """GoFlow2's file transport, as it is set up by default."""
    (FOLDER / name).unlink(missing_ok=True)
    listen = f"sflow://127.0.0.1:{SFLOW_PORT},netflow://127.0.0.1:{NETFLOW_PORT}"
    with running("goflow2", "-listen", listen, "-addr", "127.0.0.1:18080", "-format", form,
                 "-transport.file", str(FOLDER / name)):  # fmt: skip
        send("sflow", SFLOW_PORT)
        for source in ("netflow5", "nf9", "ipfix"):
            send(source, NETFLOW_PORT)


def pmacct(daemon: str, source: str, name: str, settings: str) -> None:
    """Run pmacct's print plugin over a capture; the daemon ends when the capture does."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "pmacct.conf"
        configuration.write_text(
            f"daemonize: false\npcap_savefile: {FOLDER / source}.pcap\nplugins: print[p]\nprint_output[p]: json\n"
            f"print_output_file[p]: {FOLDER / name}\nprint_markers[p]: true\nprint_refresh_time[p]: 2\n"
            f"aggregate[p]: {KEYS}, sampling_rate, timestamp_start, timestamp_end, timestamp_arrival\n{settings}"
        )
        subprocess.run([daemon, "-f", str(configuration)], stderr=subprocess.DEVNULL, check=False, timeout=60)
        (FOLDER / name).chmod(0o644)


def nfdump(daemon: str, sources: tuple[str, ...], name: str) -> None:
    """Run nfdump's collector, then print what it kept as CSV."""
    with tempfile.TemporaryDirectory() as folder:
        with running(daemon, "-b", "127.0.0.1", "-p", str(NETFLOW_PORT), "-w", folder, "-t", "600"):
            for source in sources:
                send(source, NETFLOW_PORT)
        output = subprocess.run(["nfdump", "-R", folder, "-o", "csv"], capture_output=True, check=True).stdout
        (FOLDER / name).write_bytes(output)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
