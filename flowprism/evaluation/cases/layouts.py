"""Families without a fault that ask for the layout: every kind of training, as exact records and as a mirror."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowprism.evaluation.cases.training import TRAININGS, Drawn, draw
from simulate.scenarios.scenario import Scenario

_ITERATIONS = 16
# Rows of a mirror gathered into one: as many as fast NICs need to keep a case small.
_GATHERED = 256
# The kinds whose transfers a mirror cuts differently from exact records.
MIRRORED = ("dense", "overlap", "zero", "interleaved", "trees", "replicas", "fsdp", "shuffled", "nics-2", "moe")


def plain(drawn: Drawn, **changes: object) -> Scenario:
    """A scenario of one job on its fabric."""
    return replace(Scenario("", "", drawn.fabric, (drawn.job,)), **changes)  # type: ignore[arg-type]  # fields by name


def layouts(number: int, random: np.random.Generator) -> Scenario:
    """Each kind of training in turn."""
    name = list(TRAININGS)[number % len(TRAININGS)]
    return plain(draw(TRAININGS[name], random, _ITERATIONS), about=name)


def mirrors(number: int, random: np.random.Generator) -> Scenario:
    """The same as a mirror sees it."""
    name = MIRRORED[number % len(MIRRORED)]
    return plain(draw(TRAININGS[name], random, _ITERATIONS), about=name, telemetry="mirror", gathered=_GATHERED)
