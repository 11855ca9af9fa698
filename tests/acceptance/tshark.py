"""tshark's reading of export datagrams, from its JSON, as flat lists of field names and texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Tree = list[tuple[str, Any]]  # an object of tshark's: it repeats keys; arrays are lists of texts or of trees
Leaf = tuple[str, str]

GOLDEN = ".tshark.json"


def layers(path: Path, name: str) -> list[Tree]:
    """A layer ("cflow", "sflow") of each frame of a golden file that has one."""
    frames: list[Tree] = json.loads(path.read_text(), object_pairs_hook=list)
    return [layer for frame in frames for key, layer in frame if key == name]


def leaves(tree: Tree, *, without: str = "") -> Iterator[Leaf]:
    """All fields that hold a value, in order; the subtree `without` is left out."""
    for key, value in tree:
        if key == without:
            continue
        for one in value if isinstance(value, list) and not _is_tree(value) else [value]:
            if isinstance(one, str):
                yield key, one
            elif isinstance(one, list):
                yield from leaves(one, without=without)


def _is_tree(value: list[Any]) -> bool:
    return bool(value) and isinstance(value[0], tuple)


def records(layer: Tree) -> list[list[Leaf] | None]:
    """The data records of a NetFlow or IPFIX datagram; None for a set whose template tshark does not know."""
    found: list[list[Leaf] | None] = []
    for key, value in layer:
        if key.startswith("pdu "):
            found.append(list(merged(leaves(value))))
        elif key.startswith(("Set ", "FlowSet ")):
            for inner, record in value:
                if inner.startswith("Flow "):
                    found.append(list(merged(leaves(record))))
                elif "no template found" in inner:
                    found.append(None)
    return found


def templates(layer: Tree) -> list[tuple[int, list[int]]]:
    """Id and field lengths of the templates of a datagram, options templates included."""
    found = []
    for key, value in layer:
        if key.startswith(("Set ", "FlowSet ")):
            for inner, record in value:
                if inner.startswith(("Template", "Options Template")):
                    parts = list(leaves(record))
                    number = next(int(text) for name, text in parts if name == "cflow.template_id")
                    found.append((number, [int(t) for name, t in parts if name == "cflow.template_field_length"]))
    return found


def merged(fields: Iterator[Leaf]) -> Iterator[Leaf]:
    """Fields that tshark takes apart, put together as they stand on the wire."""
    label = status = engine = kind = 0
    for name, text in fields:
        if name == "cflow.mpls_label":
            label = int(text) << 4
        elif name == "cflow.mpls_exp":
            label |= int(text) << 1
        elif name == "cflow.mpls_bos":
            yield "label", f"{label | int(text):06x}"
        elif name == "cflow.forwarding_status":
            status = int(text) << 6
        elif name.startswith("cflow.forwarding_status_"):
            yield "status", str(status | int(text))
        elif name == "cflow.icmp_ipv6_type":
            kind = int(text) << 8
        elif name == "cflow.icmp_ipv6_code":
            yield "icmp6", str(kind | int(text))
        elif name == "cflow.appl_id.classification_engine_id":
            engine = int(text)
        elif name == "cflow.appl_id.selector_id":
            yield "application", f"{engine:02x}:{text}"
        else:
            yield name, text


def moment_ns(text: str) -> int:
    """A time of tshark's ("May 21, 2018 09:24:40.000000000 UTC")."""
    seconds, _, fraction = text.removesuffix(" UTC").partition(".")
    moment = datetime.strptime(" ".join(seconds.split()), "%b %d, %Y %H:%M:%S").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 10**9 + int(fraction)
