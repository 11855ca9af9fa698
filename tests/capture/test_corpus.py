"""Packets of real devices, decoded here and by tshark."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capture.files.capture_file import is_capture
from capture.packets.packet_columns import ABSENT
from capture.tables.addresses import canonical, from_words
from tests.capture.frames import decoded

Layers = dict[str, Any]

# Layers that lead on to the flow a mirror is about; what else tshark finds inside packets is their payload.
ON_THE_WAY = {
    "eth", "raw", "sll", "null", "ethertype", "vlan", "mpls", "pwethcw", "ip", "ipv6", "gre", "erspan", "vxlan",
    "geneve", "udp", "tcp",
}  # fmt: skip

FOLDERS = ("roce-vectors", "phdddddd+Experiment", "oferby+proxy", "zeek+zeek", "the-tcpdump-group+tcpdump",
           "OISF+suricata-verify", "akvorado+akvorado")  # fmt: skip


def innermost(layers: Layers) -> tuple[str, Layers] | None:
    """The innermost network layer tshark shows that is part of the packet's own way, and its family."""
    found: tuple[str, Layers] | None = None
    seen = {"ip": 0, "ipv6": 0}
    for token in layers["frame"]["frame.protocols"].split(":"):
        if token not in ON_THE_WAY and not token.startswith("ipv6."):
            break
        if token in seen:
            layer = layers.get(token)
            choices: list[Any] = layer if isinstance(layer, list) else [layer]
            if seen[token] >= len(choices) or choices[seen[token]] is None:
                return None
            found = (token, choices[seen[token]])
            seen[token] += 1
    return found


def check(row: np.void, layers: Layers) -> int:
    """Compare one frame; how many facts were compared."""
    network = innermost(layers)
    if row["reason"] or network is None or not isinstance(network[1], dict):
        return 0
    family, layer = network
    ends = [from_words(int(row[f"{side}_high"]), int(row[f"{side}_low"])) for side in ("src", "dst")]
    assert ends == [canonical(layer[f"{family}.src"]), canonical(layer[f"{family}.dst"])]
    facts = 2
    if family == "ip" and int(layer["ip.len"]):
        assert row["ip_bytes"] == int(layer["ip.len"])
        assert row["ip_id"] == int(layer["ip.id"], 16)
        facts += 2
    rdma = layers.get("infiniband")
    if rdma and row["opcode"] != ABSENT:
        header = rdma["infiniband.bth_tree"]
        assert row["opcode"] == int(header["infiniband.bth.opcode"])
        assert row["queue_pair"] == int(header["infiniband.bth.destqp"], 16)
        assert row["sequence"] == int(header["infiniband.bth.psn"])
        facts += 3
        if "infiniband.reth_tree" in rdma:
            assert row["message_bytes"] == int(rdma["infiniband.reth_tree"]["infiniband.reth.dmalen"])
            facts += 1
        if "infiniband.aeth_tree" in rdma:
            assert row["syndrome"] == int(rdma["infiniband.aeth_tree"]["infiniband.aeth.syndrome"], 0)
            facts += 1
    return facts


@pytest.mark.parametrize("folder", FOLDERS)
def test_tshark_sees_the_same(shared: Path, folder: str) -> None:
    """Addresses, sizes and RoCE headers of every frame that both decode are equal, through all encapsulations."""
    facts = 0
    for golden in sorted((shared / "corpus" / folder).rglob("*.pcap*.tshark.json")):
        content = golden.with_name(golden.name.removesuffix(".tshark.json")).read_bytes()
        if is_capture(content):
            frames = json.loads(golden.read_text())
            facts += sum(check(row, layers) for row, layers in zip(decoded(content), frames, strict=False))
    assert facts > 0
