"""Accounts of jobs in, GPU-hours of all of them out: by day, by job and by host."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from datamodel.reports.fleet_time import FleetDay, FleetHost, FleetJob, FleetTime, GpuHours
from datamodel.reports.report import Window
from datamodel.reports.training_time import TIME_USES, TrainingTime
from datamodel.service.result_rows import JobRecord
from diagnose.training_time.account import effective_bounds


@dataclass(frozen=True, slots=True)
class AccountPiece:
    """A part of one day of a job in which no endpoint left or joined.

    Attributes:
        day_ns: begin of the day, UTC.
        spent: its account; slowed time is by finding, not by kind.
        members: endpoints.
    """

    day_ns: int
    spent: TrainingTime
    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class JobAccount:
    """A job's time.

    Attributes:
        job: the job.
        pieces: of its account.
        gpus_per_endpoint: None where the number of GPUs is not known.
        faults: finding -> its kind, and the host at fault; None where it is no single host's.
    """

    job: JobRecord
    pieces: Sequence[AccountPiece]
    gpus_per_endpoint: float | None
    faults: Mapping[str, tuple[str, str | None]]


@dataclass(slots=True)
class _Sum:
    """GPU time, ns, by what it went to."""

    uses: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lost_by: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, piece: AccountPiece, gpus: float, faults: Mapping[str, tuple[str, str | None]]) -> None:
        """Add a piece of so many GPUs."""
        spent, repeated = piece.spent, piece.spent.repeated_ns[1]
        for use in TIME_USES:
            self.uses[use] += gpus * getattr(spent, f"{use}_ns")
        self.uses["repeated"] += gpus * repeated
        slowed = ((faults[one][0], ns) for one, ns in spent.slowed_by_ns.items())
        others = (*spent.paused_by_ns.items(), *spent.down_by_ns.items(), ("repeated", repeated))
        for cause, ns in (*slowed, *others):
            self.lost_by[cause] += gpus * ns

    def hours(self) -> GpuHours:
        """In hours; causes that took most first."""
        total = sum(self.uses[use] for use in TIME_USES)
        causes = sorted((-ns, cause) for cause, ns in self.lost_by.items() if ns > 0)
        return GpuHours(
            total=total / 3.6e12,
            **{use: self.uses[use] / 3.6e12 for use in (*TIME_USES, "repeated")},
            lost_by={cause: -ns / 3.6e12 for ns, cause in causes},
            effective_ratio=effective_bounds(
                self.uses["productive"], self.uses["repeated"], self.uses["unknown"], total
            ),
        )


def fleet_time(window: Window, accounts: Iterable[JobAccount], host_of: Mapping[str, str]) -> FleetTime:
    """Sum up.

    Args:
        window: of the accounts.
        accounts: one a job.
        host_of: endpoint -> host; others are hosts of their own.
    """
    whole, days, hosts = _Sum(), defaultdict[int, _Sum](_Sum), defaultdict[str, _Sum](_Sum)
    jobs: list[FleetJob] = []
    jobs_of, caused = defaultdict[str, set[str]](set), defaultdict[str, float](float)
    for account in accounts:
        job, own, gpus_each = account.job, _Sum(), account.gpus_per_endpoint or 0.0
        for piece in account.pieces if gpus_each else ():
            gpus = gpus_each * len(piece.members)
            for one in (whole, own, days[piece.day_ns]):
                one.add(piece, gpus, account.faults)
            for host, nics in Counter(host_of.get(member, member) for member in piece.members).items():
                hosts[host].add(piece, gpus_each * nics, account.faults)
                jobs_of[host].add(job.id)
            for finding, ns in piece.spent.slowed_by_ns.items():
                if (fault := account.faults[finding][1]) is not None:
                    caused[fault] += gpus * ns / 3.6e12
        spent = own.hours() if gpus_each else None
        jobs.append(FleetJob(job=job.id, label=job.label, tenant=job.tenant, world_size=job.world_size, spent=spent))
    found = [
        FleetHost(host=host, jobs=len(jobs_of[host]), spent=spent.hours(), caused=caused[host])
        for host, spent in hosts.items()
    ]
    return FleetTime(
        window=window,
        of=len(jobs),
        without_size=sum(one.spent is None for one in jobs),
        spent=whole.hours(),
        days=tuple(FleetDay(start_ns=day, spent=days[day].hours()) for day in sorted(days)),
        jobs=tuple(sorted(jobs, key=lambda one: (-lost(one.spent), one.job))),
        hosts=tuple(sorted(found, key=lambda one: (-one.caused, -lost(one.spent), one.host))),
    )


def lost(spent: GpuHours | None) -> float:
    """GPU-hours that are known to be lost; what may have been repeated is not among them, nor what was not seen."""
    return 0.0 if spent is None else spent.slowed + spent.paused + spent.down
