"""Right configurations, each made wrong in one way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
    FlowExport,
    PacketSampling,
    Value,
    default,
)


def mutants(config: ExportConfig) -> Iterator[tuple[str, ExportConfig]]:
    """A name for each mistake, and the configuration with it, where the language can say it."""
    sampling = config.sampling
    write = DIALECTS[config.vendor].write
    made = [(name, replace(config, sampling=wrong)) for name, wrong in _mistakes(config, sampling)] if sampling else []
    if sampling is None and len(config.flows) == 1:
        made = [(name, replace(config, flows=(wrong,))) for name, wrong in _flow_mistakes(config.flows[0])]
    for name, wrong_config in made:
        if write(wrong_config) != write(config):
            yield name, wrong_config


def _flow_mistakes(flow: FlowExport) -> Iterator[tuple[str, FlowExport]]:
    yield "off", replace(flow, enabled=default(value=False))
    yield "no collector", replace(flow, collectors=())
    yield "another collector", replace(flow, collectors=(Collector("192.0.2.1", Value(4739)),))
    yield "records of five minutes", replace(flow, active_timeout_s=Value(300.0))
    yield "records end after a minute's pause", replace(flow, inactive_timeout_s=Value(60.0))
    yield "no port", replace(flow, ports=())
    yield "one port less", replace(flow, ports=flow.ports[:-1])


def _mistakes(config: ExportConfig, sampling: PacketSampling) -> Iterator[tuple[str, PacketSampling]]:
    can, blank = DIALECTS[config.vendor].settable, DIALECTS[config.vendor].blank
    yield "off", replace(sampling, enabled=blank.enabled)
    yield "no collector", replace(sampling, collectors=())
    yield "another collector", replace(sampling, collectors=(Collector("192.0.2.1", default(6343)),))
    yield "another port", replace(sampling, collectors=tuple(replace(c, port=Value(9999)) for c in sampling.collectors))
    yield "no agent", replace(sampling, agent=None)
    yield "polled every minute", replace(sampling, polling_s=Value(60))
    yield "polled twice an hour", replace(sampling, polling_s=Value(1800))
    if "header_bytes" in can:
        yield "short header", replace(sampling, header_bytes=Value(64))
    if sampling.rate is not None and "rate" in can and not sampling.rates_by_speed:
        yield "four times the rate", replace(sampling, rate=Value(sampling.rate.value * 4))
        yield "the vendor's rate", replace(sampling, rate=blank.rate, direction=_left(sampling, blank))
    if sampling.rates_by_speed:
        speed, rate = sampling.rates_by_speed[-1]
        others = sampling.rates_by_speed[:-1]
        yield "another rate of one speed", replace(sampling, rates_by_speed=(*others, (speed, Value(rate.value * 4))))
    if "port.rate" in can and sampling.ports:
        port = replace(sampling.ports[-1], rate=Value(1_000_000))
        yield "another rate of one port", replace(sampling, ports=(*sampling.ports[:-1], port))
    if Direction.BOTH in DIALECTS[config.vendor].directions and len(DIALECTS[config.vendor].directions) > 1:
        both = {"egress_rate": sampling.rate} if "egress_rate" in can else {"direction": Value(Direction.BOTH)}
        yield "both directions", replace(sampling, **both)
    if not sampling.all_ports.value and sampling.ports:
        yield "one port less", replace(sampling, ports=sampling.ports[:-1])
    if "limit_per_s" in can:
        yield "a low limit", replace(sampling, limit_per_s=Value(301))


def _left(sampling: PacketSampling, blank: PacketSampling) -> Value[Direction]:
    return blank.direction if blank.rate is None else sampling.direction
