from __future__ import annotations

from dataclasses import asdict

from capture.configured_rates import SamplingRates
from datamodel.service.api_models import CountedRate, ExporterSampling
from datamodel.telemetry.exporter_stats import ExporterStats, SamplingRateMismatch
from flowprism.service.components.feed_sampling import sampled


def test_what_is_told_counted_and_configured_stands_side_by_side() -> None:
    """One row an exporter, whatever protocols it speaks; a doubt names its place and the likely rate."""
    doubt = SamplingRateMismatch("interface 3", told=1000, likely=4000, counted="sample pool", samples=900)
    notes = [
        ExporterStats("sFlow v5", "10.0.0.2", 0, sampling_rates=(1000,), doubted_rates=(doubt,)),
        ExporterStats("IPFIX", "10.0.0.1", 7, sampling_rates=(0, 512)),
        ExporterStats("NetFlow v9", "10.0.0.1", 7, sampling_rates=(512, 1024)),
    ]
    found = sampled([asdict(one) for one in notes], SamplingRates({"10.0.0.1": 512}))
    assert found == (
        ExporterSampling(exporter="10.0.0.1/7", rates=(0, 512, 1024), configured=512),
        ExporterSampling(
            exporter="10.0.0.2/0",
            rates=(1000,),
            doubted=(CountedRate(where="interface 3", told=1000, likely=4000, counted="sample pool"),),
        ),
    )
