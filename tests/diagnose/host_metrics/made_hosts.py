"""Made hosts: heat, power and clocks of GPUs second by second, with faults and decoys, as exporters would show them.

Nothing here is shared with what is tested: GPUs are a heat capacity behind a thermal resistance, with a governor that
moves the clock by steps of 15 MHz.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

HOSTS, GPUS, NICS = 4, 4, 2
BEFORE_S, AFTER_S, STEP_S = 1900, 900, 10
SLOW_RATIO = 0.95  # of the clock: an iteration is seen to be slower when a GPU has been so slow for half a minute
FAULTS = {
    "fan": "thermal",
    "fan_no_counters": "thermal",
    "inlet": "thermal",
    "power_cap": "power",
    "power_supply": "power",
    "pcie": "pcie",
    "xid": "gpu_error",
    "nvlink": "gpu_error",
    "nic_errors": "nic_errors",
    "link_down": "nic_errors",
}
WHOLE_HOST = ("inlet", "power_supply", "nic_errors", "link_down")
DECOYS = (
    "hot_peer", "all_hot", "old_xid", "hotter_by_load", "counter_reset", "always_throttled", "always_replays",
    "job_ended", "gpu_of_others", "gap",
)  # fmt: skip
POWER_USAGE = "DCGM_FI_DEV_POWER_USAGE"  # what sFlow's energy counts; no rule reads it from a Prometheus
Samples = dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]]  # metric, host, device -> seconds, values


@dataclass
class Case:
    """One incident and what its hosts export; `cause` None: nothing is wrong with them.

    `truth` has every metric at `times_s`, by time, host and device.
    """

    name: str
    onset_s: int
    cause: str | None
    gpu: int | None
    in_question: tuple[int, ...] = tuple(range(GPUS))
    samples: Samples = field(default_factory=dict)
    times_s: np.ndarray = field(default_factory=lambda: np.zeros(0))
    truth: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        """Names of all hosts; the first one is suspected."""
        return [f"{self.name}-h{n}" for n in range(HOSTS)]


def made_cases(seed: int, start_s: int, count: int = 40) -> list[Case]:
    """Cases of one seed: of every eight five with a fault, two clean and one decoy."""
    rng = np.random.default_rng(seed)
    kinds = [(list(FAULTS) * 9)[n // 8 * 5 + n % 8] if n % 8 < 5 else "clean" if n % 8 < 7 else
             DECOYS[(seed * 5 + n // 8) % len(DECOYS)] for n in range(count)]  # fmt: skip
    return [_case(f"s{seed}c{n:02}-{kind.replace('_', '')}", kind, start_s, rng) for n, kind in enumerate(kinds)]


def _case(name: str, kind: str, start_s: int, rng: np.random.Generator) -> Case:
    onset_s = start_s + BEFORE_S + int(rng.integers(0, 60))
    gpu = int(rng.integers(0, GPUS))
    made = Case(name, onset_s, FAULTS.get(kind), gpu if kind in FAULTS and kind not in WHOLE_HOST else None)
    if kind == "gpu_of_others":
        made.in_question = tuple(one for one in range(GPUS) if one != gpu)
    times_s = np.arange(start_s, onset_s + AFTER_S, STEP_S)
    counters = kind != "fan_no_counters" and (rng.random() < 0.6 or kind in {"power_cap", "power_supply"})
    metrics = _gpus(kind, gpu, times_s, onset_s, rng)
    if made.cause in {"thermal", "power"}:  # heat takes its time: the finding begins when the clock is low
        clock = metrics["DCGM_FI_DEV_SM_CLOCK"][:, 0, gpu]
        slow = np.convolve(clock, np.full(3, 1 / 3))[: len(clock)] < SLOW_RATIO * clock.max()
        slow[: np.searchsorted(times_s, onset_s - 60)] = False
        if not slow[:-30].any() or clock[np.argmax(slow) :].mean() > SLOW_RATIO * clock.max():  # nobody would notice
            return _case(name, kind, start_s, rng)
        made.onset_s = int(times_s[np.argmax(slow)])
    for metric, values in metrics.items():
        if metric != POWER_USAGE and ("VIOLATION" not in metric or counters):
            _scraped(made, metric, values, times_s, kind, rng)
    nics = _nics(kind, times_s, onset_s, rng)
    for metric, values in nics.items():
        _scraped(made, metric, values, times_s, kind, rng)
    made.times_s, made.truth = times_s, metrics | nics
    return made


def _gpus(kind: str, gpu: int, times_s: np.ndarray, onset_s: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Metrics of all GPUs by time, host and GPU."""
    on = times_s >= onset_s - (rng.integers(0, 45) if kind in FAULTS else 0)
    found = _heated(kind, gpu, on, rng) | _counted(kind, gpu, on, rng)
    if kind == "counter_reset":  # the exporter restarts with what another instance had counted
        for name, values in found.items():
            if not name.endswith(("CLOCK", "TEMP", "USAGE")):
                values[on, 0] -= np.floor(0.6 * values[on, 0].min(axis=0))
    return {f"DCGM_FI_DEV_{name}": values for name, values in found.items()}


def _heated(kind: str, gpu: int, on: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Clock, temperature and throttled time."""
    shape = (HOSTS, GPUS)
    highest, limit_c, tau_s = float(rng.choice([1410, 1755, 1980])), 85.0, float(rng.uniform(50, 110))
    ambient = 26 + rng.normal(0, 1.5, (HOSTS, 1)) + rng.uniform(0, 8, (1, GPUS))
    resistance, busy = 0.055 * rng.normal(1, 0.03, shape), float(rng.uniform(0.75, 0.95))
    severity, worse, share = float(rng.uniform(1.0, 1.6)), np.zeros(shape), np.full(shape, busy)
    hit: tuple[int | slice, int | slice] = (1, gpu) if kind == "hot_peer" else (0, gpu)
    if kind in WHOLE_HOST or kind == "all_hot":
        hit = (0 if kind in WHOLE_HOST else slice(None), slice(None))
    clock, temperature = np.full(shape, highest), ambient + resistance * 600 * busy
    heated, hungered, shown = rng.uniform(0, 9e12, shape), rng.uniform(0, 9e12, shape), []
    supply = np.full(shape, 700.0)
    for broken in on:
        if (
            broken and kind in {"fan", "fan_no_counters", "inlet", "hot_peer", "all_hot"}
        ) or kind == "always_throttled":
            worse[hit] = severity
        if broken and kind in {"power_cap", "power_supply"}:
            supply[hit] = 700 * (0.62 - 0.2 * (severity - 1))
        if kind == "hotter_by_load":
            share[0] = busy if broken else busy * 0.55
        watts = (90 + 560 * share * (clock / highest) ** 2.4) * rng.normal(1, 0.02, shape)
        aim = ambient + resistance * (1 + worse) * watts
        temperature = temperature + (aim - temperature) * (1 - np.exp(-STEP_S / tau_s))
        hot, hungry = temperature > limit_c, watts > supply
        steps = np.where(hot | hungry, -6, np.where((temperature < limit_c - 2) & (watts < 0.97 * supply), 3, 0))
        clock = np.clip(clock + 15 * steps, 345, highest)
        heated = heated + STEP_S * 1e9 * (hot | ((clock < highest) & (temperature > limit_c - 4)))
        hungered = hungered + STEP_S * 1e9 * (hungry | ((clock < highest) & (watts > 0.9 * supply)))
        shown.append((clock, np.round(temperature), heated, hungered, watts))
    names = ("SM_CLOCK", "GPU_TEMP", "THERMAL_VIOLATION", "POWER_VIOLATION", "POWER_USAGE")
    return {name: np.array(column) for name, column in zip(names, zip(*shown, strict=True), strict=True)}


def _counted(kind: str, gpu: int, on: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Errors since boot, and the last XID."""
    shape = (len(on), HOSTS, GPUS)
    replays, crc = rng.poisson(0.0005 * STEP_S, shape).astype(float), rng.poisson(0.0003 * STEP_S, shape).astype(float)
    xid = np.zeros(shape)
    faulty = on | (kind == "always_replays")
    if kind in {"pcie", "gpu_of_others", "always_replays"}:
        replays[faulty, 0, gpu] += rng.poisson(rng.uniform(0.5, 40) * STEP_S, faulty.sum())
    if kind == "nvlink":
        crc[on, 0, gpu] += rng.poisson(rng.uniform(0.5, 60) * STEP_S, on.sum())
    if kind == "xid":
        xid[on, 0, gpu] = rng.choice([48, 74, 79, 94, 95, 119])
    if kind == "old_xid":
        xid[rng.choice([0, 60]) :, 0, gpu] = rng.choice([79, 94])
    if kind == "job_ended":
        xid[on] = np.where(rng.random(shape[1:]) < 0.5, 43.0, 45.0)
    return {
        "PCIE_REPLAY_COUNTER": np.cumsum(replays, axis=0) + rng.integers(0, 900, shape[1:]),
        "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": np.cumsum(crc, axis=0) + rng.integers(0, 50, shape[1:]),
        "XID_ERRORS": xid,
    }


def _nics(kind: str, times_s: np.ndarray, onset_s: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    shape, on = (len(times_s), HOSTS, NICS), times_s >= onset_s
    errors = rng.poisson(0.0004 * STEP_S, shape).astype(float)
    downs = np.zeros(shape)
    nic = int(rng.integers(0, NICS))
    if kind == "nic_errors":
        errors[on, 0, nic] += rng.poisson(rng.uniform(0.6, 50) * STEP_S, on.sum())
    if kind == "link_down":
        downs[np.flatnonzero(on)[0], 0, nic] = 1
        downs[on, 0, nic] += rng.random(on.sum()) < 0.02
    return {
        "node_infiniband_port_errors_received_total": np.cumsum(errors, axis=0) + rng.integers(0, 99, shape[1:]),
        "node_infiniband_link_downed_total": np.cumsum(downs, axis=0) + rng.integers(0, 3, shape[1:]),
    }


def _scraped(
    made: Case, metric: str, values: np.ndarray, times_s: np.ndarray, kind: str, rng: np.random.Generator
) -> None:
    """What Prometheus would have of it: every 30 or 60 s, not in step, with a few scrapes missing."""
    every_s = (30, 60)[made.onset_s % 2]
    for host in range(HOSTS):
        at_s = np.arange(times_s[0] + hash_of(made.hosts[host]) % every_s, times_s[-1], every_s)
        at_s = at_s[rng.random(len(at_s)) > 0.01]
        if kind == "gap" and host == 0:
            at_s = at_s[(at_s < made.onset_s - 200) | (at_s > made.onset_s + 200)]
        rows = np.searchsorted(times_s, at_s, "right") - 1
        for device in range(values.shape[2]):
            label = str(device) if metric.startswith("DCGM") else f"mlx5_{device}"
            made.samples[metric, made.hosts[host], label] = at_s, values[rows, host, device]


def hash_of(text: str) -> int:
    """A number that a text always has."""
    return sum(text.encode())
