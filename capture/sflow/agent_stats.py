"""The account of sFlow exporters in words: what was left out, which rates, and what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from capture.exporters.exporter_table import Exporter, Table, collect_stats
from capture.packets.packet_columns import Record
from capture.sflow.reasons import REASONS
from capture.sflow.sflow_layout import IF_INDEX
from datamodel.telemetry.exporter_stats import ExporterStats, SamplingRateMismatch

_ENOUGH_SAMPLES = 100
_TOLERATED_RATIO = 0.1
_CHANCE_SIGMAS = 3.0
_SOURCES_NAMED = 3  # in one warning; the others are counted

_COUNTED = (
    ("without_rate", "{} flow samples without a sampling rate"),
    ("overruled", "{} flow samples give another sampling rate than the configured one, which replaces it"),
    ("dropped", "agent dropped {} samples for lack of resources"),
    ("far_stamps", "{} timestamps more than 10 s off the arrival; the arrival was taken instead"),
    ("cut_headers", "{} sampled headers end inside the transport header; ports, queue pairs or message sizes lack"),
)


def collect_agent_stats(
    exporters: Table, agents: Table, sources: Table, wanted: npt.NDArray[np.int64]
) -> tuple[ExporterStats, ...]:
    """The account of each exporter that is wanted.

    Args:
        exporters: rows of `EXPORTER`.
        agents: rows of `AGENT`, one for each of them and maybe more.
        sources: rows of `SOURCE` in use.
        wanted: places of the exporters.
    """
    by_exporter = sources[np.argsort(sources["exporter"], kind="stable")]
    starts = np.searchsorted(by_exporter["exporter"], np.arange(len(exporters) + 1))
    return tuple(_account(exporters[i], agents[i], by_exporter[starts[i] : starts[i + 1]]) for i in wanted.tolist())


def _account(exporter: Exporter, agent: Record, sources: Table) -> ExporterStats:
    known = collect_stats(exporter, REASONS)
    rates = sorted(int(rate) for rate in agent["rates"][: int(agent["rates_used"])])
    warnings = [*known.warnings, *(text.format(int(agent[name])) for name, text in _COUNTED if agent[name])]
    mismatches = tuple(
        SamplingRateMismatch(
            _name(s), _ratio(s["exported_packets"], s), _ratio(s["packets"], s), "sample pool", int(s["samples"])
        )
        for s in sources[_contradicted(sources)]
    )
    warnings += _doubted_sources(sources)
    return replace(known, sampling_rates=tuple(rates), warnings=tuple(warnings), doubted_rates=mismatches)


def _doubted_sources(sources: Table) -> list[str]:
    """Warnings on data sources: rates that the pool contradicts, and samples missing without a lost datagram."""
    warnings = []
    wrong = sources[_contradicted(sources)]
    if len(wrong):
        said = [
            f"{_name(s)} reports 1:{_ratio(s['exported_packets'], s)} but samples 1:{_ratio(s['packets'], s)}"
            for s in wrong[:_SOURCES_NAMED]
        ]
        warnings.append("sampling rate and sample pool disagree: " + _list(said, len(wrong)))
    missing = sources[sources["missing"] > 0]
    if len(missing):
        said = [f"{_name(s)} {int(s['missing'])}" for s in missing[:_SOURCES_NAMED]]
        warnings.append("samples missing though no datagram was lost: " + _list(said, len(missing)))
    return warnings


def _contradicted(sources: Table) -> npt.NDArray[np.bool_]:
    """Find sources whose pool growth contradicts their rate, beyond tolerance and chance.

    Sampling takes n of N packets with a standard deviation of about sqrt(n), hence 1 / sqrt(n) of the ratio.
    """
    samples, exported = sources["samples"].astype(float), sources["exported_packets"].astype(float)
    judged = (samples >= _ENOUGH_SAMPLES) & (exported > 0)
    ratio = sources["packets"] / np.where(judged, exported, 1)
    allowed = _TOLERATED_RATIO + _CHANCE_SIGMAS / np.sqrt(np.maximum(samples, 1))
    return np.asarray(judged & (np.abs(ratio - 1) > allowed))


def _ratio(packets: int, source: Record) -> int:
    return round(int(packets) / int(source["samples"]))


def _name(source: Record) -> str:
    kind, index = int(source["source_class"]), int(source["source_index"])
    return f"interface {index}" if kind == IF_INDEX else f"source {kind}:{index}"


def _list(said: Sequence[str], all_of_them: int) -> str:
    more = all_of_them - len(said)
    return ", ".join(said) + (f" and {more} more" if more else "")
