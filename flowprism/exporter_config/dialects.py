"""The vendors that are understood, and which of them a text is from."""

from __future__ import annotations

import re

from flowprism.exporter_config.dialect import ConfigDialect
from flowprism.exporter_config.model import Vendor
from flowprism.exporter_config.vendors import eos, hsflowd, junos, nvue, nxos, onyx, openconfig, ovs, sonic

DIALECTS: dict[Vendor, ConfigDialect] = {
    module.DIALECT.vendor: module.DIALECT for module in (eos, nxos, junos, sonic, nvue, hsflowd, ovs, onyx, openconfig)
}

# Lines that only one vendor writes. The vendor with the most kinds of them wins; RANCID names it outright.
_SIGNS: dict[Vendor, tuple[str, ...]] = {
    Vendor.ARISTA_EOS: (
        r"^!RANCID-CONTENT-TYPE: arista", r"^! device: .*EOS", r"^sflow run$",
        r"^sflow (?:destination|vrf)", r"^sflow sample ",
        r"^flow tracking (?:sampled|hardware)$", r"^transceiver qsfp default-mode", r"^service routing protocols model",
        r"^daemon TerminAttr", r"^management api http-commands", r"^! Arista",
    ),
    Vendor.CISCO_NXOS: (
        r"^!RANCID-CONTENT-TYPE: cisco-nx", r"^!Command: show running-config", r"^feature \w+", r"^version .*Bios",
        r"^sflow (?:collector-ip|data-source|agent-ip|counter-poll-interval)", r"^vdc \S+ id", r"^boot nxos",
        r"^hardware rate-limiter sflow",
    ),
    Vendor.JUNIPER_JUNOS: (
        r"^(?:#|!)RANCID-CONTENT-TYPE: juniper", r"^(?:set )?(?:system|protocols|chassis|routing-options)(?: |$)",
        r"^set (?:protocols|system|interfaces|forwarding-options|services|version) ",
        r"^## Last (?:commit|changed)",
        r"^version [\d.]+[A-Z][\w.-]*;", r"^protocols \{", r"^system \{", r"^(?:services|forwarding-options) \{",
    ),
    Vendor.SONIC: (r'"SFLOW(?:_\w+)?"\s*:', r'"DEVICE_METADATA"\s*:', r'"PORT"\s*:\s*\{', r'"FEATURE"\s*:\s*\{'),
    Vendor.CUMULUS_NVUE: (
        r"^(?:\S+[$#] )?nv (?:set|config|unset) ", r"^- set:$", r"^- header:", r"^ +nvue-api-version",
    ),
    Vendor.HSFLOWD: (r"^\s*sflow\s*\{", r"^\s*(?:psample|dropmon|pcap)\s*\{", r"^\s*collector\s*\{\s*ip"),
    Vendor.OPEN_VSWITCH: (r"ovs-vsctl ", r"^_uuid\s+: ", r"^cache_active_timeout\s*:", r"^polling\s+:"),
    Vendor.NVIDIA_ONYX: (
        r"^[ \t]*protocol sflow", r"^[ \t]*sflow max-sample-size", r"^##.*(?:Onyx|MLNX-OS|saved database)",
        r"^[ \t]*interface ethernet \d+/\d+.* sflow enable", r"^##\s*Generated at .*", r"^[ \t]*interface mgmt0 ",
    ),
    Vendor.OPENCONFIG: (r'"openconfig-[\w-]+:', r'"openconfig-sampling'),
}  # fmt: skip
_PATTERNS = {vendor: tuple(re.compile(sign, re.MULTILINE) for sign in signs) for vendor, signs in _SIGNS.items()}
_DECISIVE = 10  # how many further signs the name that RANCID writes outweighs


_HEAD = 16_384  # what a device writes at the top of its configuration is within it
_WORDS = ("sflow", "flow tracking", "ovs-vsctl", "cache_active_timeout")
_MOST_LINES = 40  # of one word


def _excerpt(text: str) -> str:
    """The beginning, and the first lines further down that name exports: all that signs are sought in."""
    parts = [text[: text.rfind("\n", 0, _HEAD) + 1] if len(text) > _HEAD else text]
    for word in _WORDS:
        position = text.find(word, _HEAD)
        for _ in range(_MOST_LINES):
            if position < 0:
                break
            start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
            end = len(text) if end < 0 else end
            parts.append(text[start:end] + "\n")
            position = text.find(word, end)
    return "".join(parts)


def recognize(text: str) -> Vendor | None:
    """The vendor whose configuration a text is; None where none or several fit."""
    is_json = text.lstrip()[:1] in ("{", "[")
    text = text if is_json else _excerpt(text)
    scores = {
        vendor: sum((_DECISIVE if "RANCID" in pattern.pattern else 1) for pattern in patterns if pattern.search(text))
        for vendor, patterns in _PATTERNS.items()
        if (vendor in (Vendor.SONIC, Vendor.OPENCONFIG)) == is_json
    }
    best = max(scores.values())
    winners = [vendor for vendor, score in scores.items() if score == best]
    return winners[0] if best and len(winners) == 1 else None
