"""Settings of host metrics: which Prometheus is asked, and by which labels it knows hosts."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from flowprism.service.alerts.alert_settings import Secret, Url

Label = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
MetricName = Annotated[str, Field(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")]


class HostMetricsSettings(BaseModel):
    """The section `host_metrics`. Without a `url` only the lake's counters are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: Url | None = Field(default=None, description="a Prometheus, without `/api/v1`; null: none is asked")
    token: Secret | None = Field(default=None, description="bearer token: a text, `{env: NAME}` or `{file: PATH}`")
    timeout_s: float = Field(default=2.0, gt=0, le=10, description="for all questions about one incident")
    gpu_host_labels: tuple[Label, ...] = Field(
        default=("Hostname", "hostname"), min_length=1, description="by which GPU metrics name their host"
    )
    gpu_label: Label = Field(default="gpu", description="by which they name the GPU's index")
    nic_host_labels: tuple[Label, ...] = Field(
        default=("instance",), min_length=1, description="by which NIC metrics name their host"
    )
    names: dict[str, MetricName] = Field(default={}, description="names of metrics that are exported by other names")
