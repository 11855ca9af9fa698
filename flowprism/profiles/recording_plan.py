"""A finding or incident -> commands that record profiles of its suspects and of healthy peers, by dynolog."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from datamodel.reports.findings import Finding
from datamodel.reports.layout import Groups
from datamodel.service.incidents import Incident
from flowprism.service.host_metrics.host_selection import select_hosts

# A profile slows a host down by some per cent while it runs; more hosts would slow the job without showing more.
MOST_SUSPECTS = 4
PEERS_A_SUSPECT = 2
# dynolog records three processes of a host unless said otherwise; a host has as many ranks as GPUs.
_PROCESSES = 16
# Recordings begin at an iteration that this divides, so that those of all hosts begin together.
_ROUND_UP_TO = 10
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """Hosts to record, and how.

    Attributes:
        suspects, peers: names of the inventory.
        left_out: suspects that are too many.
        folder: on the hosts, where each writes its traces.
        iterations: to be recorded.
        port: of dynolog on the hosts; None its own default.
        slurm_job: whose processes are recorded; None those of any job.
    """

    suspects: tuple[str, ...]
    peers: tuple[str, ...]
    left_out: int
    folder: str
    iterations: int
    port: int | None = None
    slurm_job: int | None = None

    def command(self, host: str) -> list[str]:
        """What records one host: dynolog's own client."""
        port = [] if self.port is None else ["--port", str(self.port)]
        job = [] if self.slurm_job is None else ["--job-id", str(self.slurm_job)]
        return [
            "dyno", "--hostname", host, *port, "gputrace", *job, "--log-file", f"{self.folder.rstrip('/')}/{host}.json",
            "--iterations", str(self.iterations), "--profile-start-iteration-roundup", str(_ROUND_UP_TO),
            "--process-limit", str(_PROCESSES), "--with-stacks",
        ]  # fmt: skip

    def commands(self) -> dict[str, list[str]]:
        """By host, suspects first."""
        return {host: self.command(host) for host in (*self.suspects, *self.peers)}

    def text(self) -> str:
        """The plan for a shell."""
        lines = [f"# suspects: {', '.join(self.suspects)}; peers: {', '.join(self.peers) or 'none'}"]
        if self.left_out:
            lines.append(f"# {self.left_out} more suspected hosts are left out")
        if len(self.peers) < PEERS_A_SUSPECT:
            lines.append("# fewer than two peers: profiles of one host compare its own GPUs only")
        return "\n".join([*lines, *(shlex.join(command) for command in self.commands().values())]) + "\n"


def plan_recording(
    wrong: Finding | Incident,
    endpoints: Sequence[str],
    groups: Groups,
    inventory: Inventory,
    *,
    folder: str,
    iterations: int,
    port: int | None = None,
    slurm_job: int | None = None,
) -> RecordingPlan:
    """Suspects and two peers each; hosts that the inventory names, and no other.

    Args:
        wrong: whose suspects are recorded.
        endpoints: of its job.
        groups: of its job.
        inventory: names the hosts.
        folder: where hosts write traces.
        iterations: to be recorded.
        port: of dynolog.
        slurm_job: whose processes are recorded.

    Raises:
        InputError: the inventory names no host of the suspects, or a host's name is none.
    """
    selection = select_hosts(wrong, endpoints, groups, inventory)
    if selection is None:
        raise InputError(f"{wrong.id}: the inventory names no host of the suspects")
    suspects = tuple(selection.suspects)[:MOST_SUSPECTS]
    peers = selection.peers[: PEERS_A_SUSPECT * len(suspects)]
    for host in (*suspects, *peers):
        if not _HOST.fullmatch(host):
            raise InputError(f"inventory: {host!r} is no name that a host is reached by")
    return RecordingPlan(
        suspects, peers, selection.suspected - len(suspects), folder, iterations, port=port, slurm_job=slurm_job
    )
