"""A verdict in one sentence."""

from __future__ import annotations

from datamodel.telemetry.profiles import ProfileVerdict


def describe_verdict(verdict: ProfileVerdict, place: str) -> str:
    """Which rank, at which place if that is known, takes how much longer with what."""
    where = describe_ranks(verdict.ranks) + place
    more = f"{verdict.excess_s * 1e3:.3g} ms an iteration"
    factor = verdict.factor
    times = "time that peers do not need" if factor is None else f"{factor:.2f} times as long as on peers"
    sentences = {
        "clocks": f"{where}: all kernels take {times} ({more}): a lower clock",
        "kernels": f"{where}: {verdict.what} kernels take {times}, others do not ({more})",
        "compute": f"{where}: kernels of several families take {times} ({more})",
        "copies": f"{where}: copies {verdict.what} take {times} ({more})".replace("copies  take", "copies take"),
        "loader": f"{where}: the GPU waits for the data loader, {verdict.what} ({more} more than peers)",
        "python": f"{where}: the GPU waits for the host in {verdict.what} ({more} more than peers)",
        "host": f"{where}: the GPU waits for the host in no function alone ({more} more than peers): a slow CPU",
        "network": f"{where}: transfers take {times} that exchange the same ({more}): the network",
        "mixed": f"{where}: an iteration takes {more} longer than on peers, and no class explains most of it",
    }
    return sentences[verdict.cause]


def describe_ranks(ranks: tuple[int | str, ...]) -> str:
    """Ranks by number, other profiles by their file."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}" if isinstance(ranks[0], int) else str(ranks[0])
    return f"ranks {', '.join(map(str, ranks))}"
