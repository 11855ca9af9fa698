"""Where in its iteration a sampled job was when its last sample was taken, and until when that can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.factorize import factorize
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.sampled_recognition import SampledJob


@dataclass(frozen=True, slots=True)
class LastPosition:
    """A job and the silence behind its last sample.

    Attributes:
        since_ns: its last sample.
        heard_ns: until when every exporter that saw the job is known to have reported; `since_ns` where its endpoints
            went on over other connections: that is no silence.
        spacing_ns: usual time from one of its samples to the next.
        reached: (c,) iterations that each connection has done at its last sample since the job's last edge; below 0
            where that lies before it.
        samples: (c,) usual number of each connection's samples in an iteration.
    """

    since_ns: int
    heard_ns: int
    spacing_ns: float
    reached: Float
    samples: Float


def standstill(
    progress: ProgressCurves, job: SampledJob, samples: Flows, reports_ns: Mapping[tuple[int, int], int]
) -> LastPosition:
    """The end of what samples show of a job.

    Args:
        progress: all curves.
        job: one job in them.
        samples: the sampled packets they are made of, those of other connections among the job's endpoints too.
        reports_ns: code of an exporter's address, and its domain -> when anything of it last arrived, readings of
            counters too; those that are not in it have last reported with their last sample.
    """
    frame = samples.frame
    own = np.zeros(len(samples.addresses), np.bool_)
    own[job.endpoints] = True
    inside = own[frame["src_addr"]] & own[frame["dst_addr"]]
    time_ns = frame["time_flow_start_ns"]
    exporters, which = factorize(frame["sampler_address"].astype(np.int64) << 32 | frame["observation_domain_id"])
    last_ns = np.zeros(len(exporters), np.int64)
    np.maximum.at(last_ns, which, time_ns)
    saw = np.flatnonzero(np.bincount(which[inside]))
    told = [reports_ns.get((e >> 32, e & 0xFFFFFFFF), 0) for e in exporters[saw].tolist()]
    heard = int(np.maximum(last_ns[saw], told).min())
    first, last = progress.offsets[job.connections], progress.offsets[job.connections + 1] - 1
    since = int(progress.time_ns[last].max())
    if int(time_ns[inside].max()) > since + job.period_ns:
        heard = since
    begin, end = (
        (progress.position_bytes[at] - job.origin_bytes) / job.quantum_bytes - (len(job.edges_ns) - 1)
        for at in (first, last)
    )
    rate = (last - first) / np.maximum(end - begin, 1e-9)
    return LastPosition(
        since_ns=since,
        heard_ns=heard,
        spacing_ns=job.period_ns / float(rate.sum()),
        reached=np.asarray(end, np.float64),
        samples=np.asarray(rate, np.float64),
    )
