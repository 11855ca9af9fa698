"""Settings of the service: one YAML file and the environment, with defaults that work on a laptop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from capture.receive.source_filter import networks
from capture.tables.addresses import canonical
from datamodel.errors import InputError
from datamodel.reports.findings import Severity
from flowprism.collector.collector_options import DEFAULT_LISTENS, parse_listen, parse_workers
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.config.log_setup import LogSettings
from flowprism.service.host_metrics.host_metrics_settings import HostMetricsSettings
from flowprism.service.incidents.incident_lifecycle import IncidentOptions

# What sends to a collector on the usual networks of a machine room; the rest of the world is not believed.
PRIVATE_NETWORKS = ("127.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12",
                    "192.168.0.0/16", "::1/128", "fc00::/7", "fe80::/10")  # fmt: skip


def _checked(check: Callable[[str], object]) -> Callable[[str], str]:
    """A text that the command line would take, with its complaint where it would not."""

    def same(text: str) -> str:
        try:
            check(text)
        except InputError as error:
            raise ValueError(str(error).partition(": ")[2]) from None
        return text

    return same


def _number_as_text(given: object) -> object:
    return str(given) if type(given) is int else given


def _address(text: str) -> str:
    if (found := canonical(text)) is None:
        raise ValueError(f"{text} is not an IP address")
    return found


Workers = Annotated[str, BeforeValidator(_number_as_text), AfterValidator(_checked(parse_workers))]
Door = Annotated[str, AfterValidator(_checked(parse_listen))]
Network = Annotated[str, AfterValidator(_checked(lambda text: networks((text,))))]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Rate = Annotated[int, Field(ge=1, le=1 << 32)]
ComponentKind = Literal["collector", "compactor", "scanner", "alerter", "api"]
LakeKind = Literal["flows", "counters", "drops", "spans", "iterations", "patterns", "rates"]


class Section(BaseModel):
    """A setting that is not known is an error, and an error does not repeat what was set."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Keep(Section):
    """How long one kind of records stays in a lake."""

    age_h: float | None = Field(default=None, gt=0, description="hours since it was stored; null: for ever")
    size_gib: float | None = Field(default=None, gt=0, description="GiB of it together; null: all there is room for")


class StoreSettings(Section):
    """The section `store`: where everything is kept, and for how long."""

    folder: Path = Field(default=Path("flowprism-data"), description="what follows is in it, where it is not set")
    results: SecretStr | None = Field(
        default=None, description="results database: `sqlite:///FILE` or `postgresql://...`; null: `results.sqlite`"
    )
    flows: str | None = Field(default=None, description="lake of flow records, a folder or `s3://...`; null: `flows`")
    analyses: str | None = Field(
        default=None, description="lake of timelines and iterations, a folder or `s3://...`; null: `analyses`"
    )
    keep: dict[LakeKind, Keep] = Field(default={}, description="how long each kind of records is kept, by kind")
    keep_results_days: float = Field(
        default=400.0, gt=0, description="scans, rollups, the audit log, incidents that are over"
    )
    keep_every_s: float = Field(default=60.0, ge=1, description="how often small files are packed and old ones removed")

    @property
    def database(self) -> str:
        """The results database's address."""
        return self.results.get_secret_value() if self.results else f"sqlite:///{self.folder / 'results.sqlite'}"

    @property
    def flow_lake(self) -> str:
        """The lake that collectors write."""
        return self.flows or str(self.folder / "flows")

    @property
    def analysis_lake(self) -> str:
        """The lake that scanners write."""
        return self.analyses or str(self.folder / "analyses")


class CollectSettings(Section):
    """The section `collect`: what is received, and its allowed senders."""

    enabled: bool = Field(default=True, description="whether this machine collects")
    listen: tuple[Door, ...] = Field(
        default=tuple(map(str, DEFAULT_LISTENS)), description="where exporters send to, `[tcp:]HOST:PORT`"
    )
    allow: tuple[Network, ...] = Field(default=PRIVATE_NETWORKS, description="networks that may send; empty: all")
    mirror: tuple[str, ...] = Field(default=(), description="interfaces that packets are mirrored to")
    erspan: tuple[str, ...] = Field(default=(), description="our addresses at which ERSPAN sessions end")
    kafka_topics: tuple[str, ...] = Field(default=(), description="topics that another collector writes to")
    kafka: dict[str, SecretStr] = Field(default={}, description="librdkafka's settings, by name")
    workers: Workers = Field(
        default="1", description="pairs of processes that share the exporters; `1-4`: as load demands"
    )
    sampling_rate: Rate | None = Field(default=None, description="N of 1 in N, whatever exporters say")
    sampling_rates: dict[Annotated[str, AfterValidator(_address)], Rate] = Field(
        default={}, description="the same for single exporters, by address"
    )
    commit_every_s: float = Field(default=5.0, ge=0.05, le=3600, description="what came is durable after this time")
    thinning: bool = Field(default=True, description="under overload one in 2, 4 ... sFlow samples is kept")

    @model_validator(mode="after")
    def _servers_known(self) -> CollectSettings:
        if self.kafka_topics and "bootstrap.servers" not in self.kafka:
            raise ValueError("kafka_topics need `kafka: {bootstrap.servers: HOST:PORT}`")
        return self


class Policy(Section):
    """A health check that is made again and again: which jobs, how often, over how long a window."""

    name: Name = Field(description="what its scans are kept under")
    every_s: float = Field(default=60.0, ge=1, le=86_400, description="a window ends at every multiple of it, UTC")
    window_s: float = Field(default=600.0, ge=1, le=604_800, description="how long a window is")
    jobs: tuple[str, ...] = Field(default=(), description="labels or ids; one that is not seen is unknown; empty: all")
    tenants: tuple[str, ...] = Field(default=(), description="jobs of these tenants; empty: all")
    hosts: tuple[str, ...] = Field(default=(), description="jobs that have one of these hosts; empty: all")
    at_least: Severity = Field(default="warning", description="findings of less are reported and do not count")

    @model_validator(mode="after")
    def _windows_touch(self) -> Policy:
        if self.window_s < self.every_s:
            raise ValueError("window_s is shorter than every_s: what is between windows would not be seen")
        return self


class ScanSettings(Section):
    """The section `scans`: what is looked at, and when."""

    enabled: bool = Field(default=True, description="whether this machine scans")
    policies: tuple[Policy, ...] = Field(
        default=(Policy(name="default"),), min_length=1, description="health checks by job, tenant or host"
    )
    inventory: Path | None = Field(
        default=None, description="hosts, switches and links, YAML or CSV; null: what was uploaded"
    )
    settle_s: float = Field(default=5.0, ge=0, le=3600, description="records may come so much later than their window")
    patience_s: float = Field(
        default=60.0,
        ge=1,
        le=86_400,
        description="a window is scanned so long after its end, though the feed is silent",
    )
    watch_every_s: float = Field(
        default=5.0, ge=0.5, le=3600, description="how often the last byte of every job is looked at, to find hangs"
    )
    most_missed: int = Field(default=60, ge=0, description="windows of a policy that are caught up after a stop")
    lease_s: float = Field(
        default=30.0, ge=3, le=3600, description="a replica that is silent so long has lost its scan"
    )
    workers: int | None = Field(default=None, ge=1, description="threads that analyze jobs; null: one a processor")
    scheduler: str | None = Field(default=None, description="jobs are analyzed by this dask scheduler's workers")

    @model_validator(mode="after")
    def _named_once(self) -> ScanSettings:
        names = [policy.name for policy in self.policies]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two policies are named {name}")
        return self


class IncidentSettings(Section):
    """The section `incidents`: when a finding becomes an incident, and when that is over."""

    confirming_scans: int = Field(default=2, ge=1, description="that must have seen it before an alert is sent")
    quiet_scans: int = Field(default=3, ge=1, description="in a row that did not see it, after which it is over")
    reopen_within_s: float = Field(
        default=1800.0,
        ge=0,
        description="one that comes back so soon is the same one; one whose job is gone for so long is over",
    )

    def options(self) -> IncidentOptions:
        """Return the section as incidents are followed by it."""
        return IncidentOptions(self.confirming_scans, self.quiet_scans, self.reopen_within_s)


class ApiSettings(Section):
    """The section `api`: where API and dashboard are."""

    enabled: bool = Field(default=True, description="whether this machine serves them")
    host: str = Field(default="127.0.0.1", description="address to listen at; off loopback access is checked")
    port: int = Field(default=8080, ge=0, le=65_535, description="0: one that is free")


class Settings(BaseSettings):
    """All settings of the service."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    store: StoreSettings = Field(default_factory=StoreSettings)
    collect: CollectSettings = Field(default_factory=CollectSettings)
    scans: ScanSettings = Field(default_factory=ScanSettings)
    incidents: IncidentSettings = Field(default_factory=IncidentSettings)
    host_metrics: HostMetricsSettings = Field(default_factory=HostMetricsSettings)
    alerts: AlertSettings = Field(default_factory=AlertSettings)
    api: ApiSettings = Field(default_factory=ApiSettings)
    access: AccessSettings = Field(default_factory=AccessSettings)
    log: LogSettings = Field(default_factory=LogSettings)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library names them
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library names them
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library names them
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library names them
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing but what is given: `settings_file` reads the environment and the file, and knows where what stood."""
        return (init_settings,)


def shown(settings: Settings) -> dict[str, Any]:
    """The effective settings, JSON-able, secrets as stars."""
    return settings.model_dump(mode="json")
