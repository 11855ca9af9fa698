"""The suite: families of seeded cases, how many there are of each, and which belong to its smaller parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Literal

import numpy as np

from datamodel.errors import InputError
from datamodel.reports.truth import Truth
from flowprism.evaluation.cases.faulty import KINDS, faults
from flowprism.evaluation.cases.feeds import FEEDS as CASE_FEEDS
from flowprism.evaluation.cases.feeds import KINDS as FED
from flowprism.evaluation.cases.feeds import WHOLE, seen
from flowprism.evaluation.cases.independent import independent
from flowprism.evaluation.cases.layouts import MIRRORED, layouts, mirrors
from flowprism.evaluation.cases.links import KINDS as LINK_KINDS
from flowprism.evaluation.cases.links import WATCHED, links
from flowprism.evaluation.cases.quiet import EVENTS, NOISES, clean, events, neighbours
from flowprism.evaluation.cases.sampled import FAINT_KINDS, RATES, faint, sampled
from flowprism.evaluation.cases.sampled import KINDS as CELLS_A_RATE
from flowprism.evaluation.cases.several_faults import PAIRS, crowded, two_faults
from flowprism.evaluation.cases.thinned_records import COMPLETE, Thinning, restrict_truth, thin_records
from flowprism.evaluation.cases.training import TRAININGS
from flowprism.evaluation.cases.uneven import TRAININGS as UNEVEN
from flowprism.evaluation.cases.uneven import uneven
from flowprism.inputs.inventory_file import load_inventory
from simulate.case import write_case
from simulate.scenarios.scenario import Scenario

Size = Literal["full", "medium", "small"]
CAPTURES = "captures"


@dataclass(frozen=True, slots=True)
class Family:
    """Cases of one sort, made in rounds of one of each kind.

    Attributes:
        about: what it asks.
        make: the scenario of a number.
        kinds: cases in a round.
        rounds: in the full suite.
        medium: in the medium one.
        small: numbers of the cases in the small one.
        unknown_every: every so many-th case is analysed without its inventory; 0: none is.
        sampled: cases show samples, or records that timeouts cut, on which no other method was ever said to work.
        drawn_as: families of one name here draw the same numbers; empty: the family's own.
        thinning: what is missing of the records.
    """

    about: str
    make: Callable[[int, np.random.Generator], Scenario]
    kinds: int
    rounds: int
    medium: int = 1
    small: tuple[int, ...] = ()
    unknown_every: int = 0
    sampled: bool = False
    drawn_as: str = ""
    thinning: Thinning = COMPLETE

    def numbers(self, size: Size) -> Sequence[int]:
        """Numbers of its cases."""
        if size == "small":
            return self.small
        return range(self.kinds * (self.rounds if size == "full" else self.medium))


FAMILIES: dict[str, Family] = {
    "layouts": Family("every kind of training, as exact flow records", layouts, len(TRAININGS), 8, 1, (2, 3, 15, 18)),
    "mirrors": Family("kinds of training as a mirror sees them", mirrors, len(MIRRORED), 4, 1, (0, 5)),
    "clean": Family("long runs with noise and pauses, nothing wrong", clean, len(NOISES), 18, 2, (1, 7)),
    "events": Family("checkpoints, evaluations, restarts, replaced hosts", events, len(EVENTS), 8, 1, (1,)),
    "neighbours": Family("several jobs on one fabric, with storage and call traffic", neighbours, 2, 18, 3, (2,)),
    "faults": Family("every kind of fault on several layouts", faults, len(KINDS), 12, 2, (14, 17, 19, 29, 30, 33)),
}


# Cases of sampled feeds, a family a rate. They are run where they are asked for: what samples show is no part of the
# figures of records that show everything.
SAMPLED = "sampled"
SWEEPS: dict[str, Family] = {
    f"{SAMPLED}-{rate}": Family(
        f"cells of a sweep, 1 packet in {rate:,}", partial(sampled, rate), CELLS_A_RATE, 1, sampled=True
    )
    for rate in RATES
} | {
    f"{SAMPLED}-faint": Family("cells of a sweep that samples show too little of", faint, FAINT_KINDS, 1, sampled=True)
}

# Slow links from mild to grave, a family a feed, likewise: what a feed does not show is its own figure.
LINKS = "links"
SLOW_LINKS: dict[str, Family] = {
    f"{LINKS}-{name}": Family(
        f"slow NICs and cables, {name}",
        partial(links, watched),
        LINK_KINDS,
        watched.rounds,
        small=(n, n + LINK_KINDS // 2),
        sampled=watched.feed == "sflow",
    )
    for n, (name, watched) in enumerate(WATCHED.items())
}

# The same jobs through several feeds, a family a feed: likewise run where they are asked for.
FEEDS = "feeds"
SEEN: dict[str, Family] = {
    f"{FEEDS}-{feed}": Family(
        f"jobs of every pace as {feed} shows them",
        partial(seen, feed),
        len(FED),
        5,
        sampled=feed not in WHOLE,
        drawn_as=FEEDS,
    )
    for feed in CASE_FEEDS
}
# Families that are run together under one name.
TOGETHER = {SAMPLED: SWEEPS, LINKS: SLOW_LINKS, FEEDS: SEEN}

# Run on request only: random layouts, whose answer the traffic does not always determine, and what the suite's targets
# were not set for.
ON_REQUEST: dict[str, Family] = {
    "random": Family("every dimension of a job drawn by itself", independent, 1, 240, 60, (0, 1, 2), unknown_every=3),
    "random-lossy": Family(
        "jobs of random, 1 % of the records lost", independent, 1, 60, 20, (1,), drawn_as="random",
        thinning=Thinning(lost_ratio=0.01),
    ),
    "random-partial": Family(
        "jobs of random, a fifth of the leaves silent", independent, 1, 60, 20, (1,), drawn_as="random",
        thinning=Thinning(silent_ratio=0.2),
    ),
    "clean-bursts": Family(
        "cases of clean, one moment's records in fifty lost", clean, len(NOISES), 18, 2, (22, 34), drawn_as="clean",
        thinning=Thinning(lost_moments_ratio=0.02),
    ),
    "events-bursts": Family(
        "cases of events, one moment's records in fifty lost", events, len(EVENTS), 8, 1, (0,), drawn_as="events",
        thinning=Thinning(lost_moments_ratio=0.02),
    ),
    "faults-bursts": Family(
        "cases of faults, one moment's records in fifty lost", faults, len(KINDS), 12, 2, (1,), drawn_as="faults",
        thinning=Thinning(lost_moments_ratio=0.02),
    ),
    "clean-outage": Family(
        "cases of clean, whose collector is away for 2.3 iterations", clean, len(NOISES), 18, 2, (22, 34),
        drawn_as="clean", thinning=Thinning(away_iterations=2.3),
    ),
    "events-outage": Family(
        "cases of events, whose collector is away for 2.3 iterations", events, len(EVENTS), 8, 1, (0,),
        drawn_as="events", thinning=Thinning(away_iterations=2.3),
    ),
    "faults-outage": Family(
        "cases of faults, one of whose two collectors is away for 3.3 iterations", faults, len(KINDS), 12, 2, (1,),
        drawn_as="faults", thinning=Thinning(away_iterations=3.3, away_ratio=0.5),
    ),
    "two-faults": Family("two faults at once in one job", two_faults, len(PAIRS), 20, 4, (0, 1)),
    "crowded": Family("tens of jobs at once, every fourth with a fault", crowded, 1, 60, 12, (0,)),
    "uneven": Family("uneven sequence lengths and experts", uneven, len(UNEVEN), 15, 2, (0, 5)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseName:
    """A case by its family and number, or a recorded one by its folder."""

    family: str
    number: int
    recorded: Path | None = None

    def __str__(self) -> str:
        """As it is typed."""
        return f"{self.family}-{self.recorded.name if self.recorded else format(self.number, '03')}"


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """Where a case's records, inventory and truth lie, what it shows, and what other feeds saw the same."""

    records: Path
    inventory: Path
    truth: Path
    about: str
    further: tuple[Path, ...] = ()


def list_cases(size: Size, families: Sequence[str] = (), captures: Path | None = None) -> list[CaseName]:
    """The cases of a suite, of some families or of all, and those of a folder of recorded cases.

    Raises:
        InputError: there is no such family, or the folder holds no recorded case.
    """
    chosen = families or (*FAMILIES, *([CAPTURES] if captures else []))
    found: list[CaseName] = []
    for family in chosen:
        if family == CAPTURES and captures:
            found += list_recorded_cases(captures)
        elif family in TOGETHER:
            found += [CaseName(name, n) for name, one in TOGETHER[family].items() for n in one.numbers(size)]
        else:
            found += [CaseName(family, n) for n in _family(family).numbers(size)]
    return found


def list_recorded_cases(folder: Path) -> list[CaseName]:
    """List recorded cases below a folder: those with a truth next to their records."""
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [path for path in inside if path.is_dir() and _truth(path).exists() and _records(path)]
    if not found:
        raise InputError(f"{folder}: holds no recorded case (a folder with a truth and records)")
    return [CaseName(CAPTURES, n, path) for n, path in enumerate(found)]


def parse_case(text: str) -> CaseName:
    """The case of a name such as faults-017.

    Raises:
        InputError: there is none.
    """
    family, _, number = text.rpartition("-")
    if not number.isdecimal():
        raise InputError(f"--case {text}: expected FAMILY-NUMBER, as in faults-017")
    _family(family)
    return CaseName(family, int(number))


def timed(case: CaseName) -> bool:
    """Whether the time from fault to finding is measured: in every fourth round of faults, it takes many analyses."""
    return case.family == "faults" and case.number // FAMILIES["faults"].kinds % 4 == 0


def shows_samples(case: CaseName) -> bool:
    """Whether its records are samples."""
    return case.recorded is None and _family(case.family).sampled


def build_scenario(case: CaseName) -> Scenario:
    """The scenario of a case: the same for the same name, whatever else is run."""
    family = _family(case.family)
    salt = list((family.drawn_as or case.family).encode())
    scenario = family.make(case.number, np.random.default_rng(np.random.SeedSequence([case.number, *salt])))
    return replace(scenario, name=str(case), hosts_known=not _without_inventory(case))


def _without_inventory(case: CaseName) -> bool:
    every = _family(case.family).unknown_every
    return bool(every) and case.number % every == every - 1


def write_case_files(case: CaseName, folder: Path) -> CaseFiles:
    """The files of a case: written into `folder`, or where they were recorded."""
    if case.recorded is not None:
        records = _records(case.recorded)[0]
        return CaseFiles(records, case.recorded / "inventory.yaml", _truth(case.recorded), case.recorded.name)
    scenario = build_scenario(case)
    write_case(scenario, folder, seed=case.number)
    thinning = _family(case.family).thinning
    if thinning != COMPLETE:
        truth = Truth.model_validate_json((folder / "truth" / "truth.json").read_bytes())
        durations_ns = [end_ns - start_ns for job in truth.jobs[:1] for start_ns, end_ns in job.iterations]
        inventory = load_inventory(folder / "inventory.yaml")
        thin_records(folder / "flows.parquet", inventory, thinning, median(durations_ns), case.number)
        truth = restrict_truth(truth, inventory, folder / "flows.parquet")
        (folder / "truth" / "truth.json").write_text(truth.model_dump_json(by_alias=True))
    if _without_inventory(case):
        (folder / "inventory.yaml").rename(folder / "truth" / "inventory.yaml")
    feeds = [folder / "export" / f"{feed.kind}.pcap.gz" for feed in scenario.feeds]
    return CaseFiles(
        feeds[0] if feeds else folder / "flows.parquet",
        folder / "inventory.yaml",
        folder / "truth" / "truth.json",
        scenario.about,
        tuple(feeds[1:]),
    )


def _family(name: str) -> Family:
    every = FAMILIES | SWEEPS | SLOW_LINKS | SEEN | ON_REQUEST
    if name not in every:
        there = ", ".join([*FAMILIES, *TOGETHER, *ON_REQUEST])
        raise InputError(f"no family of cases is called {name!r}; there are {there}")
    return every[name]


def _truth(folder: Path) -> Path:
    inside = folder / "truth" / "truth.json"
    return inside if inside.exists() else folder / "truth.json"


def _records(folder: Path) -> list[Path]:
    return [path for name in ("mirror.pcap.gz", "mirror.pcap", "flows.parquet") if (path := folder / name).exists()]
