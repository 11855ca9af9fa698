"""How exporters sample: what their records say, what the settings say, and what their own counts contradict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from capture.configured_rates import UNKNOWN_RATE, SamplingRates
from datamodel.service.api_models import CountedRate, ExporterSampling

_DOUBT = tuple(CountedRate.model_fields)


def sampled(exporters: Iterable[Mapping[str, Any]], rates: SamplingRates) -> tuple[ExporterSampling, ...]:
    """Exporters by name, protocols of one together.

    Args:
        exporters: accounts as the collector's status has them (`datamodel.telemetry.exporter_stats.ExporterStats`).
        rates: what is configured.
    """
    found: dict[str, ExporterSampling] = {}
    for one in exporters:
        name = f"{one['agent']}/{one['domain']}"
        before = found.get(name, ExporterSampling(exporter=name))
        mismatches = tuple(CountedRate(**{field: doubt[field] for field in _DOUBT}) for doubt in one["doubted_rates"])
        configured = rates.of(one["agent"])
        found[name] = ExporterSampling(
            exporter=name,
            rates=tuple(sorted({*before.rates, *one["sampling_rates"]})),
            configured=None if configured == UNKNOWN_RATE else configured,
            doubted=before.doubted + mismatches,
        )
    return tuple(found[name] for name in sorted(found))
