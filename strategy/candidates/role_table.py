"""What each role looks like: log-probabilities of features, counted over simulated training runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

# A class of edges plays one of these roles.
DATA_ROLES = ("all_reduce", "tree", "direct", "fsdp", "param_gather")  # programs of data parallelism
COLLECTIVE_ROLES = (*DATA_ROLES, "cp", "ep", "tp", "other")
ROLES = ("pp", "embedding", *COLLECTIVE_ROLES)
KIND = dict.fromkeys(DATA_ROLES, "dp")  # others are called as their group

Table = dict[str, dict[str, list[float]]]


@cache
def load_role_table() -> Table:
    """Role -> feature -> (bins,) log-probability times the feature's weight; `any` is the mixture over all roles."""
    with (Path(__file__).parent / "role_table.json").open() as file:
        stored = json.load(file)
    weights: dict[str, float] = stored["weights"]
    table: Table = stored["log_probabilities"]
    return {
        role: {name: [weights[name] * each for each in own] for name, own in features.items()}
        for role, features in table.items()
    }


def log_likelihood(role: str, bins: Mapping[str, int], table: Table) -> float:
    """Log-probability of a class's binned features under a role: their weighted sum, as they depend on one another."""
    return sum(table[role][name][n] for name, n in bins.items())
