"""What traffic is for: bytes of each endpoint, minute and class."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from pydantic import Field

from datamodel.document import Document
from datamodel.frame import Column, Frame, Schema

TrafficClass = Literal["training", "weight_sync", "rollout", "serving", "storage", "management", "unknown"]
TRAFFIC_CLASSES: tuple[TrafficClass, ...] = get_args(TrafficClass)
TRAINING, WEIGHT_SYNC, ROLLOUT, SERVING, STORAGE, MANAGEMENT, UNKNOWN = range(len(TRAFFIC_CLASSES))
MEANINGS: dict[TrafficClass, str] = {
    "training": "between ranks of a training job",
    "weight_sync": "new weights on their way to engines that generate for a job",
    "rollout": "what these engines send back",
    "serving": "of served models: keys and values, activations of their steps",
    "storage": "checkpoints, data sets, parameter servers",
    "management": "calls, metrics and whatever else is small",
    "unknown": "of a transport that no decoder understands, or of no behavior that is known",
}

TRAFFIC = Schema(
    "traffic",
    (
        Column("endpoint", "i4", "code", "whose traffic"),
        Column("minute_ns", "i8", "ns", "begin of the minute, UTC"),
        Column("traffic_class", "i1", "code", "index into datamodel.reconstructed.traffic.TRAFFIC_CLASSES"),
        Column("sent_bytes", "i8", "B", "new payload that it sent, scaled by the sampling rate"),
        Column("received_bytes", "i8", "B", "new payload that was sent to it"),
    ),
)

SERVING_PAIRS = Schema(
    "serving_pairs",
    (
        Column("src", "i4", "code", "who sends, such as an engine that reads prompts"),
        Column("dst", "i4", "code", "who receives, such as one that answers"),
        Column("bytes", "i8", "B", "new payload"),
        Column("transfers", "i8", "", "records of it; 0 where records are samples"),
        Column("goodput_bps", "f8", "bit/s", "payload over the time of its transfers; nan where that is not known"),
    ),
)


def class_bytes(traffic: Frame) -> dict[str, int]:
    """Bytes of each class that is there, most first; each byte once, at its sender."""
    volume = np.zeros(len(TRAFFIC_CLASSES), np.int64)
    np.add.at(volume, traffic["traffic_class"], traffic["sent_bytes"])
    order = np.argsort(-volume, kind="stable").tolist()
    return {TRAFFIC_CLASSES[n]: int(volume[n]) for n in order if volume[n]}


class PostTraining(Document):
    """Reinforcement learning around a job: engines that take its weights and send answers."""

    takers: tuple[str, ...] = Field(description="endpoints that take the weights and are no ranks of the job")
    syncs: int = Field(description="synchronizations of weights in the window")
    sync_s: float = Field(description="median time from the first byte of weights to the last")
    sync_bytes: int = Field(description="median bytes of a synchronization, over all takers")
    rollout_gap_s: float | None = Field(
        default=None, description="median time from there until the job's ranks exchange data again"
    )


class ServingSummary(Document):
    """Served models, as their traffic shows them."""

    endpoints: int
    pairs: int
    bytes: int
    goodput_bps: float | None = Field(default=None, description="median over pairs; null where nothing shows it")
