"""The suite: as many cases as promised, the same ones every time, no two alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datamodel.errors import InputError
from flowprism.evaluation.suite import FAMILIES, SWEEPS, CaseName, made, named, names, recorded, written
from simulate.job import seated
from tests.conftest import SHARED


def test_the_full_suite_has_its_five_hundred() -> None:
    """And the smaller ones are parts of it."""
    full, medium, small = (set(names(size)) for size in ("full", "medium", "small"))
    assert len(full) >= 500
    assert small < full
    assert medium < full
    assert len(small) >= 10


def test_false_findings_can_be_shown_to_be_rare() -> None:
    """Clean runs hold the 30,000 iterations that one false finding in 10,000 at most takes to show."""
    iterations = sum(j.attempts[0].iterations for case in names("full", ["clean"]) for j in made(case).jobs)
    assert iterations >= 30_000


def test_every_kind_of_every_family_is_made() -> None:
    """A round of each family names each of its kinds, and every scenario has jobs that fit its fabric."""
    for name, family in FAMILIES.items():
        scenarios = [made(CaseName(name, n)) for n in range(family.kinds)]
        assert all(int(j.attempts[-1].gpus.max()) < s.fabric.gpus for s in scenarios for j in s.jobs)
        if name != "neighbours":
            assert len({s.about for s in scenarios}) == family.kinds


def test_sizes_are_spread() -> None:
    """From 16 GPUs to 256."""
    worlds = [made(case).jobs[0].plan.world for case in names("full", ["layouts"])]
    assert min(worlds) <= 32
    assert max(worlds) >= 256
    assert len(set(worlds)) >= 6


def test_a_name_is_a_case(tmp_path: Path) -> None:
    """The same name gives the same bytes, whatever was made before; another number gives others."""
    texts = []
    for n, text in enumerate(("faults-003", "faults-004", "faults-003")):
        files = written(named(text), tmp_path / str(n))
        texts.append((files.records.read_bytes(), files.truth.read_bytes(), files.about))
    assert texts[0] == texts[2]
    assert texts[0] != texts[1]


def test_what_is_no_case_is_refused() -> None:
    """In one line that says what there is."""
    with pytest.raises(InputError, match="--case faults: expected FAMILY-NUMBER"):
        named("faults")
    with pytest.raises(InputError, match="no family of cases is called 'floods'; there are layouts, "):
        named("floods-001")


def test_a_folder_without_recorded_cases_is_refused(tmp_path: Path) -> None:
    """Rather than taken for a suite of none."""
    with pytest.raises(InputError, match="holds no recorded case"):
        recorded(tmp_path)


@pytest.mark.shared
def test_recorded_cases_are_found() -> None:
    """Every folder of captures that has a truth."""
    found = [str(case) for case in names("small", ["captures"], SHARED / "captures")]
    assert "captures-s1-healthy" in found
    assert len(found) == len(list(SHARED.glob("captures/*/truth/truth.json")))


def test_noise_differs_from_case_to_case() -> None:
    """Two rounds of one kind are not the same job again."""
    first, second = (made(CaseName("faults", n)) for n in (0, 17))
    assert first.faults[0].kind == second.faults[0].kind
    assert not np.array_equal(first.faults[0].size, second.faults[0].size)


def test_the_sweep_of_sampled_feeds_is_run_where_it_is_asked_for() -> None:
    """Six rates of the same cells and faint ones, no part of the other suites; the feed's capture is analysed."""
    swept = names("full", ["sampled"])
    assert len(swept) == sum(family.kinds for family in SWEEPS.values())
    assert not set(swept) & set(names("full"))
    one, other = (made(CaseName(family, 0)) for family in ("sampled-1000", "sampled-40000"))
    assert [s.feeds[0].rate for s in (one, other)] == [1000, 40_000]
    assert one.fabric == other.fabric


def test_a_sampled_case_is_analysed_from_its_datagrams(tmp_path: Path) -> None:
    """Its records are what the collector received."""
    files = written(CaseName("sampled-400000", 0), tmp_path)
    assert files.records == tmp_path / "export" / "sflow.pcap.gz"
    assert files.records.exists()


def test_random_layouts_are_run_where_they_are_asked_for() -> None:
    """No part of the other suites; no two alike, and every NIC of a job sends or receives across hosts."""
    drawn = names("full", ["random"])
    assert not set(drawn) & set(names("full"))
    scenarios = [made(case) for case in drawn[:12]]
    assert len({s.about for s in scenarios}) == 12
    for scenario in scenarios:
        (job,), fabric = scenario.jobs, scenario.fabric
        seat = seated(fabric, job, 0, checkpoint=False, evaluation=False)
        out = fabric.host_of_nic(np.maximum(seat.src, 0)) != fabric.host_of_nic(np.maximum(seat.dst, 0))
        assert {*fabric.nic_of_gpu(job.attempts[0].gpus)} <= {*seat.src[out], *seat.dst[out]}


def test_a_third_of_random_layouts_is_analysed_without_its_inventory(tmp_path: Path) -> None:
    """It lies beside the truth there."""
    told = [written(CaseName("random", n), tmp_path / str(n)).inventory.exists() for n in range(3)]
    assert told == [True, True, False]
    assert (tmp_path / "2" / "truth" / "inventory.yaml").exists()
