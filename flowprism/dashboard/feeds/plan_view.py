"""What the page Feeds -> Plan shows of plans, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flowprism.exporter_config.model import Vendor
from flowprism.feed_plan.plan_search import FeedPlan, PlanChoice
from flowprism.feed_plan.plan_text import format_change
from flowprism.rendering.units import count

VENDOR_NAMES: Mapping[Vendor, str] = {
    Vendor.ARISTA_EOS: "Arista EOS", Vendor.CISCO_NXOS: "Cisco NX-OS", Vendor.JUNIPER_JUNOS: "Juniper Junos",
    Vendor.SONIC: "SONiC", Vendor.CUMULUS_NVUE: "NVIDIA Cumulus (NVUE)", Vendor.HSFLOWD: "Host sFlow (hsflowd)",
    Vendor.OPEN_VSWITCH: "Open vSwitch", Vendor.NVIDIA_ONYX: "NVIDIA Onyx", Vendor.OPENCONFIG: "OpenConfig",
}  # fmt: skip
_FAULTS = {"straggler": "a slow GPU or host", "slow_nic": "a slow NIC or cable"}


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """A plan in the table that compares it with the chosen one.

    Attributes:
        name: what it is called.
        plan: it; None where rates go no further.
        change: what it gains or loses, in words; "" for the chosen one.
    """

    name: str
    plan: FeedPlan | None
    change: str = ""


def compared(choice: PlanChoice) -> tuple[ComparedPlan, ...]:
    """The next denser plan, the chosen one, and the next sparser one."""
    return (
        _compared("Next denser", choice.chosen, choice.denser),
        ComparedPlan("Cheapest", choice.chosen),
        _compared("Next sparser", choice.chosen, choice.sparser),
    )


def _compared(name: str, chosen: FeedPlan, other: FeedPlan | None) -> ComparedPlan:
    return ComparedPlan(name, other, format_change(chosen.shown, other.shown) if other is not None else "")


def rates_by_speed(plan: FeedPlan) -> list[str]:
    """Sampling rates, `1 in 16,384 on 400 Gb/s ports`, the fastest ports first."""
    return [f"1 in {count(rate)} on {speed} Gb/s ports" for speed, rate in sorted(plan.rates.items(), reverse=True)]


def fault_names(named: Sequence[str] | None) -> str:
    """Faults that are located, `a slow GPU or host, and a slow NIC or cable`."""
    return ", and ".join(_FAULTS[one] for one in named or ())
