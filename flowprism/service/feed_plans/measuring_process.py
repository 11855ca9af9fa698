"""Runs the measurements of a feed plan in a process of its own: they take a minute or two of processor time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection

from datamodel.errors import FlowprismError
from flowprism.feed_plan.cost_model import Costs
from flowprism.feed_plan.feed_measurements import FeedMeasurements, Progress
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts

_NICE = 10  # collectors and scans come first

# Measures with costs that are known, or None; reports progress.
Measure = Callable[[FabricPorts, FeedGoal, Costs | None, Progress], FeedMeasurements]


class MeasuringError(FlowprismError):
    """Measurements of a feed plan failed."""


def measure_in_process(ports: FabricPorts, goal: FeedGoal, costs: Costs | None, progress: Progress) -> FeedMeasurements:
    """Measure in another process and wait for it; it ends with this one.

    Raises:
        MeasuringError: the process failed.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that the server's threads hold
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, ports, goal, costs), daemon=True)
    process.start()
    sender.close()
    try:
        while not isinstance(message := receiver.recv(), FeedMeasurements):
            progress(*message)
    except EOFError:
        process.join()
        raise MeasuringError(f"the measuring process ended with exit code {process.exitcode}") from None
    process.join()
    return message


def _measure(sender: Connection, ports: FabricPorts, goal: FeedGoal, costs: Costs | None) -> None:
    from flowprism.feed_plan.feed_measuring import measure_feed  # noqa: PLC0415 - loads the decoders

    os.nice(_NICE)
    sender.send(measure_feed(ports, goal, costs, lambda done, total: sender.send((done, total))))
