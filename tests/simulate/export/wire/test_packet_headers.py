import struct
from pathlib import Path

import numpy as np

from capture.packets.roce import CNP, ICRC_BYTES, RELIABLE_ACK
from simulate.export.feed_spec import FeedSpec
from simulate.export.observations import observe_trains
from simulate.export.packets import packets
from simulate.export.sampling import samples
from simulate.export.wire.packet_headers import ETHERNET_BYTES, internet_checksum, invariant_checksums, sampled_headers
from tests.simulate.export.views import passed

IPV4_ROCE = (0x0800, 17, 4791)


def frames(capture: bytes) -> list[bytes]:
    """The whole frames of a little-endian pcap file."""
    found, at = [], 24
    while at + 16 <= len(capture):
        captured, sent = struct.unpack_from("<II", capture, at + 8)
        if captured == sent:
            found.append(capture[at + 16 : at + 16 + captured])
        at += 16 + captured
    return found


def is_roce(frame: bytes) -> bool:
    """Whether it is RoCEv2 over plain IPv4."""
    kind, protocol, port = frame[12:14], frame[23], frame[36:38]
    return (int.from_bytes(kind), protocol, int.from_bytes(port)) == IPV4_ROCE and frame[14] == 0x45


def test_invariant_checksums_are_those_of_real_packets(shared: Path) -> None:
    """Every RoCEv2 packet over IPv4 in the corpus ends with what is computed from the rest of it."""
    corpus = shared / "corpus"
    paths = [*sorted((corpus / "roce-vectors").glob("*.pcap")), corpus / "oferby+proxy" / "roce.pcap"]
    found = [frame for path in paths for frame in frames(path.read_bytes())]
    real = [f[ETHERNET_BYTES : ETHERNET_BYTES + int.from_bytes(f[16:18])] for f in found if is_roce(f)]
    assert len(real) > 2
    for packet in real:
        rows = np.frombuffer(packet[:-ICRC_BYTES], np.uint8).reshape(1, -1)
        assert invariant_checksums(rows).tobytes() == packet[-ICRC_BYTES:]


def test_short_packets_are_whole_with_their_checksums() -> None:
    """Acknowledgements and notifications fit into the sample: it ends with the invariant CRC of what comes before."""
    seen = passed()
    views = observe_trains(seen.fabric, seen.bursts, seen.trains, FeedSpec("sflow").points)
    taken = samples(views, seen.trains["packets"][views["train"]], 512, np.random.default_rng(1))
    train = views["train"][taken["observation"]]
    found = packets(seen.bursts, seen.trains, train, taken["number"], np.zeros(len(train), np.bool_))
    rows, size = sampled_headers(found, seen.addresses)
    whole = np.flatnonzero(np.isin(found["opcode"], (RELIABLE_ACK, CNP)))
    assert len(whole) > 40
    for row in whole[:40].tolist():
        frame = bytes(rows[row, : size[row]])
        assert is_roce(frame)
        assert len(frame) == ETHERNET_BYTES + found["bytes"][row]
        content = np.frombuffer(frame[ETHERNET_BYTES:-ICRC_BYTES], np.uint8).reshape(1, -1)
        assert invariant_checksums(content).tobytes() == frame[-ICRC_BYTES:]
    assert (internet_checksum(rows[:, ETHERNET_BYTES : ETHERNET_BYTES + 20]) == 0).all()


def test_checksums_are_those_of_rfc_1071() -> None:
    """The words that its section 3 adds up, complemented."""
    words = np.frombuffer(bytes.fromhex("0001f203f4f5f6f7"), np.uint8).reshape(1, -1)
    assert internet_checksum(words).tolist() == [0x220D]
