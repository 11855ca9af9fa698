"""Volumes of pairs and their errors where no feed shows single transfers."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.sampled.sampled_pairs import pairs_of_volumes
from flowprism.pipeline import AnalysisOptions, analyze_reading
from reconstruct.sampled.folding.folded_rates import typical_iterations
from reconstruct.sampled.jobs.volume_jobs import jobs_by_volume
from simulate.case import simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from tests.reconstruct.sampled.jobs.test_volume_jobs import PACKET_BYTES, RING, records


def test_volumes_of_sampled_pairs_hold_the_true_ones() -> None:
    """Of sequence numbers and of every packet: the same pairs, and most volumes within 1.96 errors; ring rates too."""
    case = simulate_case(scenario("sflow", ScenarioOptions(gpus=16, iterations=24)), 3)
    true, seen = (
        analyze_reading(case.readings[kind], (kind,), case.inventory, AnalysisOptions()) for kind in ("flows", "sflow")
    )
    (exact,), (sampled,) = true.pairs.values(), seen.pairs.values()
    for name in ("src", "dst", "role"):
        np.testing.assert_array_equal(sampled[name], exact[name])
    off = (sampled["bytes"] - exact["bytes"]) / sampled["bytes_error"]
    assert (np.abs(off) < 1.96).mean() > 0.85
    assert (sampled["bytes_error"] < 0.05 * sampled["bytes"]).all()
    rings = np.isfinite(sampled["rate_bps"])
    assert rings.sum() == 16
    assert sampled["rate_bps"][rings] == pytest.approx(exact["rate_bps"][rings], rel=0.05)
    assert not np.isfinite(sampled["late_ratio"]).any()


def test_two_iterations_of_unlike_length_show_no_rates() -> None:
    """Neither is typical: volumes are given all the same."""
    case = simulate_case(scenario("sflow", ScenarioOptions(gpus=16, iterations=24)), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "diagnose.sampled.sampled_pairs.typical_iterations",
            lambda edges_ns: typical_iterations(edges_ns[[0, 1, 4]]),
        )
        seen = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions())
    (pairs,) = seen.pairs.values()
    assert (pairs["bytes"] > 0).all()
    assert np.isnan(pairs["rate_bps"]).all()


def test_whole_counts_have_no_error_and_unknown_rates_no_known_one() -> None:
    """Records of every packet; samples whose rate no exporter states may be off by anything."""
    (whole,) = jobs_by_volume(records(dict.fromkeys(RING, 100_000), 1), frozenset())
    table = pairs_of_volumes(whole)
    assert table["bytes"].tolist() == [100_000 * PACKET_BYTES] * len(RING)
    assert table["bytes_error"].tolist() == [0.0] * len(RING)
    (guess,) = jobs_by_volume(records(dict.fromkeys(RING, 100_000), 1, sampled=50), frozenset())
    assert np.isnan(pairs_of_volumes(guess)["bytes_error"]).all()
