"""Are sampling rates, directions and limits what the plan has, and alike for ports of one speed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from flowprism.exporter_config.device import Device
from flowprism.exporter_config.findings import ConfigFinding, Severity, finding
from flowprism.exporter_config.model import Direction, PacketSampling, Value
from flowprism.exporter_config.planned import (
    card_of,
    samples_per_s,
    with_direction,
    with_enough_samples,
    with_planned_rates,
)

COARSE = 100_000  # beyond it even a full port of 400 Gb/s gives fewer than 120 samples a second


def check_rates(device: Device) -> Iterator[ConfigFinding]:
    """One device's rates, directions and limits."""
    sampling = device.sampling
    if sampling is None:
        return
    yield from _against_plan(device, sampling)
    yield from _ineffective(device, sampling)
    yield from _directions(device, sampling)
    yield from _limit(device, sampling)


def _sampled(device: Device) -> list[tuple[str, int | None]]:
    """Sampled ports; where none has a known speed, also the speeds that have a rate."""
    ports = device.sampled_ports()
    speeds = device.sampling.rates_by_speed if device.sampling is not None else ()
    if all(mbps is None for _, mbps in ports):
        ports = [*ports, *(("", mbps) for mbps, _ in speeds)]
    return ports or [("", None)]


def _speed_text(mbps: int | None) -> str:
    return f"ports of {mbps / 1000:g} Gb/s" if mbps else "ports"


def _against_plan(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    """Each value once, whatever number of ports it counts for."""
    seen = set()
    for name, mbps in _sampled(device):
        now, wanted = device.rate_of(name, mbps), device.plan.rate_for(mbps)
        if now is None or (now.value, now.line, mbps) in seen:
            continue
        if (
            mbps is None
            and now is sampling.rate
            and sampling.rates_by_speed
            and device.dialect.rate_needs_unknown_speed
        ):
            continue  # the device knows the speed, and which of its rates counts
        seen.add((now.value, now.line, mbps))
        if wanted is not None and now.value != wanted:
            rule = "rate-off-plan" if now.configured else "default-rate"
            origin = "" if now.configured else ", the vendor's default"
            text = f"{_speed_text(mbps)} are sampled 1 in {now.value}{origin}; planned is 1 in {wanted}"
            fixed = with_planned_rates(device.dialect, device.plan, sampling, _sampled(device))
            yield finding(device, rule, Severity.WARNING, now, text, fixed if fixed != sampling else None)
        elif wanted is None and not now.configured and now.value >= COARSE:
            text = f"{_speed_text(mbps)} are sampled 1 in {now.value}, the vendor's default, which shows few packets"
            yield finding(device, "default-rate", Severity.WARNING, now, text)


def _ineffective(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    """A general rate that is set although every port has a speed."""
    rate = sampling.rate
    if not device.dialect.rate_needs_unknown_speed or rate is None or not rate.configured or sampling.rates_by_speed:
        return
    speeds = sorted({mbps for _, mbps in device.sampled_ports() if mbps})
    rates = tuple((mbps, Value(device.plan.rate_for(mbps) or rate.value)) for mbps in speeds)
    text = f"1 in {rate.value} counts only for ports of unknown speed; others are sampled 1 in speed / 10^6 bit/s"
    fixed = replace(sampling, rates_by_speed=rates) if rates else None
    yield finding(device, "ineffective-rate", Severity.WARNING, rate, text, fixed)


def _directions(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    if device.plan.direction is Direction.BOTH:
        return
    listed = [device.direction_of(port.name) for port in sampling.ports if port.enabled.value]
    ways = [sampling.direction, *(way for way in listed if way is not None)]
    for wrong, rule, text in (
        (Direction.BOTH, "both-directions", "both directions are sampled, so each packet is seen twice"),
        (Direction.EGRESS, "egress-only", "only packets that leave are sampled"),
    ):
        found = next((way for way in ways if way.value is wrong), None)
        if found is None or wrong is device.plan.direction:
            continue
        can = device.plan.direction in device.dialect.directions
        line = found.line or (sampling.egress_rate.line if sampling.egress_rate is not None else 0)
        fixed = with_direction(device.dialect, sampling, device.plan.direction) if can else None
        severity = Severity.WARNING if can else Severity.INFO
        remark = "" if can else "; this device knows nothing else"
        yield finding(device, rule, severity, line, text + remark, fixed)


def _limit(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    """Samples to expect of full ports against the limiter, for each line card where it counts so."""
    limit = sampling.limit_per_s
    if limit is None:
        return
    cards: dict[str, list[tuple[int | None, int | None, int]]] = {}
    for name, mbps in device.sampled_ports():
        rate, way = device.rate_of(name, mbps), device.direction_of(name)
        card = card_of(name) if device.dialect.limit_per_card else ""
        row = (mbps, rate.value if rate is not None else None, way.value.directions if way is not None else 1)
        cards.setdefault(card, []).append(row)
    expected = {card: samples_per_s(device.plan, rows) for card, rows in cards.items()}
    card, most = max(expected.items(), key=lambda row: (row[1], row[0]), default=("", 0.0))
    if most <= limit.value:
        return
    where = f" on line card {card}" if card else ""
    origin = "" if limit.configured else ", the vendor's default"
    text = f"full ports give {most:,.0f} samples a second{where}; the limit is {limit.value:,}{origin}"
    fixed = with_enough_samples(device.dialect, device.plan, sampling, device.sampled_ports())
    yield finding(device, "limiter", Severity.WARNING, limit, text, fixed if fixed != sampling else None)


def check_equal_rates(devices: Sequence[Device]) -> Iterator[ConfigFinding]:
    """Ports of one speed that are sampled at another rate than most of their kind."""
    rows: dict[int | None, list[tuple[int, Device, Value[int]]]] = {}
    for device in devices:
        for name, mbps in _sampled(device):
            now = device.rate_of(name, mbps)
            if now is not None and device.plan.rate_for(mbps) is None:
                rows.setdefault(mbps, []).append((now.value, device, now))
    for mbps, found in rows.items():
        counts = Counter(rate for rate, _, _ in found)
        usual = max(counts, key=lambda rate: (counts[rate], -rate))
        odd = {(device.name, rate): (device, value) for rate, device, value in found if rate != usual}
        for (_, rate), (device, value) in odd.items():
            text = f"{_speed_text(mbps)} are sampled 1 in {rate} here and 1 in {usual} elsewhere"
            yield finding(device, "unequal-rates", Severity.WARNING, value, text)
