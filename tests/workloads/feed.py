"""What a feed shows of trainings: flow records of whole messages, or a mirror's packet trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import FLOWS, ROCE_V2_PORT, TCP, UDP, Flows, recode
from tests.workloads.training import PP_BACKWARD, PP_FORWARD, Training

# Where the window begins, UTC: large enough to show a time put into a float32 or squared.
EPOCH_NS = 1_760_000_000_000_000_000
PACKET_BYTES = 4096
HEADER_BYTES = 62
READY_BYTES = 48
TRAIN_BYTES = 1 << 19
READY_AHEAD_NS = 30_000
ACKNOWLEDGED_NS = 40_000


@dataclass(frozen=True, slots=True)
class Feed:
    """How traffic was seen.

    Attributes:
        trains: a mirror's packet trains (payload and acknowledgements known) instead of a record for every message.
        queue_pairs: queue pairs of each connection, used by turns.
        lost_ratio: share of records that were dropped whole.
        lost_packets_ratio: share of packets that a mirror dropped; a row without any left is gone.
        from_s, to_s: window, from the start of the simulation.
        seed: what else is random.
    """

    trains: bool = False
    queue_pairs: int = 1
    lost_ratio: float = 0.0
    lost_packets_ratio: float = 0.0
    from_s: float = 0.0
    to_s: float = 1e9
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Message:
    """Columns of messages between numbered endpoints."""

    src: Int
    dst: Int
    start_ns: Int
    end_ns: Int
    bytes: Int
    connection: Int


def address(endpoint: int) -> str:
    """The address of an endpoint number."""
    return f"10.{endpoint // 4096}.{endpoint // 64 % 64}.{endpoint % 64 + 1}"


def inventory(endpoints: int, gpus: int, gpus_per_nic: int = 1) -> Inventory:
    """Hosts of `gpus` NICs each, numbered as the endpoints are."""
    hosts = []
    for h in range(-(-endpoints // gpus)):
        seats = []
        for g in range(min(gpus, endpoints - h * gpus)):
            gpu = g if gpus_per_nic == 1 else tuple(range(g * gpus_per_nic, (g + 1) * gpus_per_nic))
            seats.append(Endpoint(address=address(h * gpus + g), gpu=gpu))
        hosts.append(Host(name=f"h{h}", endpoints=tuple(seats)))
    return Inventory(hosts=tuple(hosts))


def flows(trainings: Sequence[Training], feed: Feed, others: Sequence[Message] = ()) -> Flows:
    """Flow records of trainings and other traffic, in order of time."""
    parts: list[Message] = []
    for training in trainings:
        t = training
        parts.append(Message(t.src, t.dst, t.start_ns, t.end_ns, t.bytes, t.connection))
    columns = Message(
        *(np.concatenate([getattr(m, name) for m in (*parts, *others)]) for name in Message.__dataclass_fields__)
    )
    frame = _trains(columns, feed) if feed.trains else _records(columns, feed)
    frame = _thinned(frame, feed) if feed.lost_packets_ratio else frame
    keep = np.random.default_rng(feed.seed).random(len(frame)) >= feed.lost_ratio
    start = frame["time_flow_start_ns"] - EPOCH_NS
    keep &= (start >= feed.from_s * 1e9) & (start < feed.to_s * 1e9)
    book = tuple(address(n) for n in range(int(max(columns.src.max(), columns.dst.max())) + 1))
    return recode(frame.take(keep).sort("time_flow_start_ns", "src_addr", "dst_addr", "src_port", "dst_qp"), book)


def _thinned(frame: Frame, feed: Feed) -> Frame:
    """Rows without the packets that the mirror lost."""
    packets = frame["packets"]
    left = packets - np.random.default_rng(feed.seed + 2).binomial(packets, feed.lost_packets_ratio)
    payload = np.where(frame["payload_bytes"] < 0, -1, frame["payload_bytes"] * left // packets)
    thin = frame.replace(packets=left, bytes=frame["bytes"] * left // packets, payload_bytes=payload)
    return thin.take(left > 0)


def _records(m: Message, feed: Feed) -> Frame:
    """One row a message, RoCEv2."""
    packets = -(-m.bytes // PACKET_BYTES)
    order = np.lexsort([m.start_ns, m.connection, m.dst, m.src])
    key = np.stack([m.src, m.dst, m.connection])[:, order]
    change = np.concatenate([[True], (np.diff(key) != 0).any(axis=0)])
    turn = np.arange(len(order)) - np.maximum.accumulate(np.where(change, np.arange(len(order)), 0))
    queue_pair = np.empty(len(order), np.int64)
    queue_pair[order] = (np.cumsum(change) * feed.queue_pairs + turn % feed.queue_pairs) % (1 << 24)
    return Frame(
        FLOWS,
        {
            "time_flow_start_ns": m.start_ns + EPOCH_NS,
            "time_flow_end_ns": m.end_ns + EPOCH_NS,
            "src_addr": m.src,
            "dst_addr": m.dst,
            "src_port": 49152 + queue_pair % 16384,
            "dst_port": np.full(len(m.src), ROCE_V2_PORT),
            "proto": np.full(len(m.src), UDP),
            "bytes": m.bytes + packets * HEADER_BYTES,
            "packets": packets,
            "dst_qp": queue_pair,
        },
    )


def _trains(m: Message, feed: Feed) -> Frame:
    """Several rows a message with short gaps between, and a ready message ahead of each, as over TCP."""
    random = np.random.default_rng(feed.seed + 1)
    count = -(-m.bytes // TRAIN_BYTES)
    of = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    piece = m.bytes[of] // count[of] + (place < m.bytes[of] % count[of])
    begin = m.start_ns[of] + (m.end_ns - m.start_ns)[of] * place // count[of]
    share = (m.end_ns - m.start_ns)[of] // count[of]
    end = begin + np.where(place == count[of] - 1, share, (share * random.uniform(0.8, 0.98, len(of))).astype(np.int64))
    data = _packets(m.src[of], m.dst[of], m.connection[of], begin, end, piece)
    ready = m.start_ns - READY_AHEAD_NS
    return concat(FLOWS, [data, _packets(m.dst, m.src, m.connection, ready, ready, np.full(len(ready), READY_BYTES))])


def _packets(src: Int, dst: Int, connection: Int, start: Int, end: Int, payload: Int) -> Frame:
    packets = -(-payload // PACKET_BYTES)
    channel = np.where(connection // 100 == PP_BACKWARD // 100, connection - PP_BACKWARD + PP_FORWARD, connection)
    port = 20_000 + channel % 20_000
    return Frame(
        FLOWS,
        {
            "time_flow_start_ns": start + EPOCH_NS,
            "time_flow_end_ns": end + EPOCH_NS,
            "src_addr": src,
            "dst_addr": dst,
            "src_port": np.where(src < dst, port, port + 20_000),
            "dst_port": np.where(src < dst, port + 20_000, port),
            "proto": np.full(len(src), TCP),
            "bytes": payload + packets * HEADER_BYTES,
            "packets": packets,
            "payload_bytes": payload,
            "time_acknowledged_ns": end + EPOCH_NS + ACKNOWLEDGED_NS,
        },
    )


def storage_reads(store: int, readers: Sequence[int], starts_ns: Int, size: int) -> Message:
    """Every reader fetches `size` bytes from a store at each of the times, as a data loader does."""
    who = np.tile(np.array(readers), len(starts_ns))
    start = np.repeat(starts_ns, len(readers)) + 1_000_000 * (who % 7)
    n = len(who)
    return Message(np.full(n, store), who, start, start + size, np.full(n, size), np.full(n, 950))


def calls(callers: Sequence[int], seconds: float, seed: int) -> Message:
    """Short remote calls between any two of `callers` at any time."""
    random = np.random.default_rng(seed)
    n = int(seconds * 20)
    src = random.choice(callers, n)
    dst = np.array([random.choice([c for c in callers if c != s]) for s in src])
    start = np.sort(random.integers(0, int(seconds * 1e9), n))
    size = random.integers(200, 200_000, n)
    return Message(src, dst, start, start + size, size, np.full(n, 951))
