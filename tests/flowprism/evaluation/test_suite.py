"""The suite: as many cases as promised, the same ones every time, no two alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from datamodel.errors import InputError
from datamodel.reports.truth import Truth
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.outcome import outcome
from flowprism.evaluation.suite import (
    FAMILIES,
    ON_REQUEST,
    SEEN,
    SLOW_LINKS,
    SWEEPS,
    CaseName,
    build_scenario,
    list_cases,
    list_recorded_cases,
    parse_case,
    shows_samples,
    write_case_files,
)
from flowprism.evaluation.trial import run_trial
from simulate.training.job import place_iteration


def test_the_full_suite_has_its_five_hundred() -> None:
    """And the smaller ones are parts of it."""
    full, medium, small = (set(list_cases(size)) for size in ("full", "medium", "small"))
    assert len(full) >= 500
    assert small < full
    assert medium < full
    assert len(small) >= 10


def test_false_findings_can_be_shown_to_be_rare() -> None:
    """Clean runs hold the 30,000 iterations that one false finding in 10,000 at most takes to show."""
    iterations = sum(
        j.attempts[0].iterations for case in list_cases("full", ["clean"]) for j in build_scenario(case).jobs
    )
    assert iterations >= 30_000


def test_every_kind_of_every_family_is_made() -> None:
    """A round of each family names each of its kinds, and every scenario has jobs that fit its fabric."""
    for name, family in FAMILIES.items():
        scenarios = [build_scenario(CaseName(name, n)) for n in range(family.kinds)]
        assert all(int(j.attempts[-1].gpus.max()) < s.fabric.gpus for s in scenarios for j in s.jobs)
        if name != "neighbours":
            assert len({s.about for s in scenarios}) == family.kinds


def test_two_faults_are_on_different_hosts() -> None:
    """So that no finding about one of them names the other."""
    for number in range(ON_REQUEST["two-faults"].kinds):
        made = build_scenario(CaseName("two-faults", number))
        one, other = (made.jobs[0].attempts[0].gpus[f.rank] // made.fabric.gpus_per_host for f in made.faults)
        assert one != other


def test_uneven_work_is_of_lengths_or_of_experts() -> None:
    """The noise of each kind is what its fault says."""
    for number in range(ON_REQUEST["uneven"].kinds):
        made = build_scenario(CaseName("uneven", number))
        noise = made.jobs[0].workload.noise
        assert (noise.expert_ratio > 0) == (made.faults[0].kind == "expert_imbalance") != (noise.replica_ratio > 0)


@pytest.mark.slow
def test_single_iterations_of_uneven_experts_blame_no_machine(tmp_path: Path) -> None:
    """A few experts get most of the tokens in some iterations: a host and a link were blamed for these."""
    files = write_case_files(CaseName("uneven", 406), tmp_path)
    found, _ = outcome(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    assert ([fault.alone for fault in found.faults], found.false) == ([True], 0)


def test_jobs_of_a_crowd_are_on_hosts_of_their_own() -> None:
    """Two dozen and more, each fault on the job that it names."""
    for number in range(3):
        made = build_scenario(CaseName("crowded", number))
        gpus = np.concatenate([job.attempts[0].gpus for job in made.jobs])
        assert 24 <= len(made.jobs) <= 40
        assert len(np.unique(gpus)) == len(gpus)
        assert all(fault.rank < made.jobs[fault.job].plan.world for fault in made.faults)


@pytest.mark.slow
def test_jobs_of_a_crowd_are_told_apart(tmp_path: Path) -> None:
    """Jobs of one model took each other's cycles, and their experts were taken for gradients of 32 replicas."""
    files = write_case_files(CaseName("crowded", 1), tmp_path)
    found, _ = outcome(analyze_case(files), Truth.model_validate_json(files.truth.read_bytes()))
    assert (found.jobs_exact, found.layouts_wrong, found.false) == (True, 0, 0)
    assert all(fault.in_set for fault in found.faults)


def test_sizes_are_spread() -> None:
    """From 16 GPUs to 256."""
    worlds = [build_scenario(case).jobs[0].plan.world for case in list_cases("full", ["layouts"])]
    assert min(worlds) <= 32
    assert max(worlds) >= 256
    assert len(set(worlds)) >= 6


def test_a_name_is_a_case(tmp_path: Path) -> None:
    """The same name gives the same bytes, whatever was made before; another number gives others."""
    texts = []
    for n, text in enumerate(("faults-003", "faults-004", "faults-003")):
        files = write_case_files(parse_case(text), tmp_path / str(n))
        texts.append((files.records.read_bytes(), files.truth.read_bytes(), files.about))
    assert texts[0] == texts[2]
    assert texts[0] != texts[1]


def test_what_is_no_case_is_refused() -> None:
    """In one line that says what there is."""
    with pytest.raises(InputError, match="--case faults: expected FAMILY-NUMBER"):
        parse_case("faults")
    with pytest.raises(InputError, match="no family of cases is called 'floods'; there are layouts, "):
        parse_case("floods-001")


def test_a_folder_without_recorded_cases_is_refused(tmp_path: Path) -> None:
    """Rather than taken for a suite of none."""
    with pytest.raises(InputError, match="holds no recorded case"):
        list_recorded_cases(tmp_path)


def test_recorded_cases_are_found(shared: Path) -> None:
    """Every folder of captures that has a truth."""
    captures = (shared / "captures" / "s1-healthy").parent
    found = [str(case) for case in list_cases("small", ["captures"], captures)]
    assert "captures-s1-healthy" in found
    assert len(found) == len(list(captures.glob("*/truth/truth.json")))


def test_noise_differs_from_case_to_case() -> None:
    """Two rounds of one kind are not the same job again."""
    first, second = (build_scenario(CaseName("faults", n)) for n in (0, 17))
    assert first.faults[0].kind == second.faults[0].kind
    assert not np.array_equal(first.faults[0].size, second.faults[0].size)


def test_the_sweep_of_sampled_feeds_is_run_where_it_is_asked_for() -> None:
    """Six rates of the same cells and faint ones, no part of the other suites; the feed's capture is analysed."""
    swept = list_cases("full", ["sampled"])
    assert len(swept) == sum(family.kinds for family in SWEEPS.values())
    assert not set(swept) & set(list_cases("full"))
    one, other = (build_scenario(CaseName(family, 0)) for family in ("sampled-1000", "sampled-40000"))
    assert [s.feeds[0].rate for s in (one, other)] == [1000, 40_000]
    assert one.fabric == other.fabric


def test_a_sampled_case_is_analysed_from_its_datagrams(tmp_path: Path) -> None:
    """Its records are what the collector received."""
    files = write_case_files(CaseName("sampled-400000", 0), tmp_path)
    assert files.records == tmp_path / "export" / "sflow.pcap.gz"
    assert files.records.exists()


def test_one_job_is_seen_through_every_feed(tmp_path: Path) -> None:
    """Sixty of them, no part of the other suites; of one number only the feed differs."""
    every = list_cases("full", ["feeds"])
    assert len(every) == 60 * len(SEEN)
    assert not set(every) & set(list_cases("full"))
    exact, cached = (build_scenario(CaseName(family, 3)) for family in ("feeds-exact", "feeds-ipfix-15-5"))
    assert (exact.about, exact.faults, exact.fabric) == (cached.about, cached.faults, cached.fabric)
    assert exact.jobs[0].workload == cached.jobs[0].workload
    assert [(f.kind, f.active_s, f.inactive_s) for f in cached.feeds] == [("ipfix", 15, 5)]
    assert write_case_files(CaseName("feeds-ipfix-15-5", 1), tmp_path).records == tmp_path / "export" / "ipfix.pcap.gz"


def test_feeds_of_one_job_are_of_every_kind() -> None:
    """Several at once, planes by packet and by queue pair, IPv6, segments, a mirror; the same work and fault each."""
    made = {name: build_scenario(CaseName(name, 4)) for name in SEEN}
    assert len({(s.about, s.faults, s.jobs[0].workload) for s in made.values()}) == 1
    both = made["feeds-ipfix-sflow"].feeds
    assert [feed.kind for feed in both] == ["ipfix", "sflow"]
    planes = made["feeds-planes-packets"], made["feeds-planes-pairs"]
    assert [(s.fabric.planes, s.fabric.sprayed, s.jobs[0].queue_pairs) for s in planes] == [(2, True, 1), (2, False, 2)]
    assert made["feeds-mirror"].telemetry == "mirror"
    assert [made[f"feeds-{name}"].fabric.addressing for name in ("ipv6", "srv6")] == ["ipv6", "segments"]
    assert [made[f"feeds-{name}"].feeds[0].prescaled for name in ("ipfix-sampled", "ipfix-prescaled")] == [False, True]


def test_a_job_behind_segments_is_analyzed_as_with_addresses(tmp_path: Path) -> None:
    """SRv6: endpoints by the addresses they send from, its layout, and the true slow NIC."""
    found = run_trial(CaseName("feeds-srv6", 8), tmp_path).outcome.methods["flowprism"]
    assert (found.jobs_exact, found.layouts_exact, [f.alone for f in found.faults]) == (True, 1, [True])


def test_captures_of_several_feeds_are_analyzed_together(tmp_path: Path) -> None:
    """The second one's file lies next to the first one's, and the analysis reads both."""
    files = write_case_files(CaseName("feeds-ipfix-sflow", 8), tmp_path)
    assert [path.name for path in (files.records, *files.further)] == ["ipfix.pcap.gz", "sflow.pcap.gz"]
    assert set(analyze_case(files).provenance.inputs) == {"ipfix.pcap.gz", "sflow.pcap.gz"}


def test_jobs_of_the_feeds_are_of_every_pace() -> None:
    """Iterations from half a second to a minute; a third of the jobs or more are healthy, and each fault is met."""
    about = [build_scenario(CaseName("feeds-exact", n)).about.split(", ") for n in SEEN["feeds-exact"].numbers("full")]
    pace_s = [float(pace.removesuffix(" s")) for _, pace, _ in about]
    assert min(pace_s) < 1
    assert max(pace_s) > 40
    wrong = [what for _, _, what in about]
    assert wrong.count("healthy") >= 20
    assert {"straggler", "slow-nic", "regression"} <= set(wrong)


def test_random_layouts_are_run_where_they_are_asked_for() -> None:
    """No part of the other suites; no two alike, and every NIC of a job sends or receives across hosts."""
    drawn = list_cases("full", ["random"])
    assert not set(drawn) & set(list_cases("full"))
    scenarios = [build_scenario(case) for case in drawn[:3]]
    assert len({s.about for s in scenarios}) == 3
    for scenario in scenarios:
        (job,), fabric = scenario.jobs, scenario.fabric
        seat = place_iteration(fabric, job, 0, checkpoint=False, evaluation=False)
        out = fabric.host_of_nic(np.maximum(seat.src, 0)) != fabric.host_of_nic(np.maximum(seat.dst, 0))
        assert {*fabric.nic_of_gpu(job.attempts[0].gpus)} <= {*seat.src[out], *seat.dst[out]}


def test_a_third_of_random_layouts_is_analysed_without_its_inventory(tmp_path: Path) -> None:
    """It lies beside the truth there."""
    told = [write_case_files(CaseName("random", n), tmp_path / str(n)).inventory.exists() for n in range(3)]
    assert told == [True, True, False]
    assert (tmp_path / "2" / "truth" / "inventory.yaml").exists()


def test_slow_links_are_run_where_they_are_asked_for() -> None:
    """No part of the other suites; a round has every side at every size, and all rounds every training with each."""
    drawn = list_cases("full", ["links"])
    assert len(drawn) >= 400
    assert not set(drawn) & set(list_cases("full"))
    assert {case.family for case in list_cases("small", ["links"])} == set(SLOW_LINKS)
    scenarios = [build_scenario(CaseName("links-exact", n)) for n in SLOW_LINKS["links-exact"].numbers("full")]
    faults = [(s.faults[0].kind, s.faults[0].direction, s.faults[0].size) for s in scenarios]
    assert len(set(faults)) == 24
    assert len({s.about.split(",")[0] for s in scenarios}) == 8
    assert {len(s.jobs) for s in scenarios} == {1, 2, 3, 4}
    for scenario in scenarios[:8]:
        seats = np.concatenate([job.attempts[0].gpus for job in scenario.jobs])
        assert len(np.unique(seats)) == len(seats)


def test_slow_links_are_watched_in_several_ways(tmp_path: Path) -> None:
    """A feed each; what flows back is seen in some, and clear-to-send messages with it."""
    told = {name.removeprefix("links-"): build_scenario(CaseName(name, 1)) for name in SLOW_LINKS}
    assert {name for name, s in told.items() if not s.answers} == {"exact-mute", "mirror-mute"}
    assert {name for name, s in told.items() if s.telemetry == "mirror"} == {"mirror", "mirror-mute"}
    assert [name for name in SLOW_LINKS if shows_samples(CaseName(name, 0))] == ["links-sflow"]
    least = {}
    for name in ("exact", "exact-mute"):
        records = write_case_files(CaseName(f"links-{name}", 1), tmp_path / name).records
        least[name] = pq.read_table(records)["bytes"].to_numpy().min()
    assert least["exact"] < 200
    assert least["exact-mute"] > 10_000
