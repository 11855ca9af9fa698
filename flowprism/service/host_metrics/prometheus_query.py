"""Questions to a Prometheus about hosts, by its read-only HTTP API.

https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np

from diagnose.host_metrics.measures import GPU_MEASURES, NIC_ERRORS, Measure
from diagnose.host_metrics.options import HostMetricsOptions
from diagnose.host_metrics.series_changes import HostSeries
from flowprism.service.alerts.http_post import NotDeliveredError, get
from flowprism.service.host_metrics.host_metrics_settings import HostMetricsSettings

STEP_S = 15  # as often as DCGM is usually scraped; what is scraped more seldom is repeated, which changes no median
_MOST_BYTES = 64 << 20
# Interfaces of containers: a host may have hundreds, and their traffic passes its NICs.
_VIRTUAL = "lo|(?:veth|cali|lxc|cilium|flannel|vxlan|docker|br-|tap|vnet).*"
_ENDING = re.compile(r":\d+$")


def query_hosts(
    settings: HostMetricsSettings, hosts: Collection[str], onset_ns: int, until_ns: int, *, with_gpus: bool
) -> list[HostSeries]:
    """Series of some hosts around an onset: a question about NICs, and one about GPUs where these matter.

    Args:
        settings: the Prometheus, and how it names things.
        hosts: names in the inventory; labels may add a domain or a port, or leave the domain out.
        onset_ns: since when something is wrong, UTC.
        until_ns: the end of it, or now.
        with_gpus: whether metrics of GPUs are wanted.

    Raises:
        NotDeliveredError: it does not answer in time, or refuses.
    """
    options, deadline_s = HostMetricsOptions(), time.monotonic() + settings.timeout_s
    asked: list[tuple[Sequence[Measure], Sequence[str]]] = [(NIC_ERRORS, settings.nic_host_labels)]
    if with_gpus:
        asked.append((GPU_MEASURES, settings.gpu_host_labels))
    start_s = onset_ns // 10**9 - round(options.past_s)
    end_s = min(until_ns // 10**9, onset_ns // 10**9 + round(options.after_s))
    found: list[HostSeries] = []
    for measures, labels in asked:
        names = {settings.names.get(one.name, one.name): one for one in measures}
        range_s = {"start": start_s, "end": max(end_s, start_s), "step": STEP_S}
        result = _ask(settings, {"query": _selector(names, labels, hosts), **range_s}, deadline_s - time.monotonic())
        found += _read(result, names, labels, hosts, settings.gpu_label)
    return found


def _selector(names: Collection[str], labels: Sequence[str], hosts: Collection[str]) -> str:
    """Metrics of these names and hosts, whichever label names the host."""
    spelled = "|".join(re.escape(name) for name in sorted({*hosts, *(host.partition(".")[0] for host in hosts)}))
    pattern = json.dumps(rf"(?:{spelled})(?:\..*)?(?::[0-9]+)?")
    metrics = json.dumps("|".join(sorted(names)))
    return " or ".join(f"{{__name__=~{metrics},{label}=~{pattern},device!~{json.dumps(_VIRTUAL)}}}" for label in labels)


def _ask(settings: HostMetricsSettings, question: Mapping[str, object], timeout_s: float) -> list[dict[str, Any]]:
    if timeout_s <= 0:
        raise NotDeliveredError(f"no answer within {settings.timeout_s:g} s")
    token = settings.token.get_secret_value() if settings.token else None
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    body = get(f"{settings.url}/api/v1/query_range?{urlencode(question)}", headers, timeout_s, _MOST_BYTES)
    try:
        answer = json.loads(body)
        if answer["data"]["resultType"] != "matrix":
            raise NotDeliveredError("what came is no range of samples")
        return list(answer["data"]["result"])
    except (ValueError, KeyError, TypeError):
        raise NotDeliveredError("what came is no answer of Prometheus") from None


def _read(
    result: Sequence[dict[str, Any]],
    names: Mapping[str, Measure],
    labels: Sequence[str],
    hosts: Collection[str],
    gpu_label: str,
) -> Iterator[HostSeries]:
    """One series a device. Other labels, as the pod that uses a GPU, change with time, and with them the series."""
    parts: dict[tuple[str, str, str], list[np.ndarray[Any, np.dtype[np.float64]]]] = {}
    for one in result:
        said = one["metric"]
        host = next((found for label in labels if (found := _host(said.get(label, ""), hosts)) is not None), None)
        if host is not None:
            port = f"/{said['port']}" if "port" in said else ""
            device = said.get("device", "") + port if names[said["__name__"]] in NIC_ERRORS else said.get(gpu_label, "")
            samples = np.array(one["values"], dtype=np.float64)  # of text: "NaN" and "+Inf" too
            parts.setdefault((said["__name__"], host, device), []).append(samples)
    for (name, host, device), some in parts.items():
        newest_first = np.concatenate(sorted(some, key=lambda samples: -samples[0, 0]))
        times_s, first = np.unique(newest_first[:, 0], return_index=True)
        yield HostSeries(
            names[name], host, device, np.round(times_s * 1e3).astype(np.int64) * 10**6, newest_first[first, 1]
        )


def _host(label: str, hosts: Collection[str]) -> str | None:
    """The host that a label names, with or without port and domain; None for none, or for one of several."""
    label = _ENDING.sub("", label)
    if label in hosts:
        return label
    short = label.partition(".")[0]
    alike = [host for host in hosts if host == short or (label == short and host.partition(".")[0] == short)]
    return alike[0] if len(alike) == 1 and short else None
