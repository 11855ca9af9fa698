"""The tables of the results database: times in ns UTC, documents as JSON text, natural keys for repeated writes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
METADATA = MetaData(naming_convention=_NAMES)

SCANS = Table(
    "scans",
    METADATA,
    Column("policy", String(200), primary_key=True),
    Column("window_end_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("window_start_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("started_ns", BigInteger, nullable=False),
    Column("finished_ns", BigInteger, nullable=False),
    Column("version", String(50), nullable=False),
    Column("verdict", String(20), nullable=False),
    Column("document", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Index(None, "window_end_ns"),
)

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", String(200), primary_key=True),
    Column("label", String(500)),
    Column("tenant", String(500)),
    Column("first_seen_ns", BigInteger, nullable=False),
    Column("last_seen_ns", BigInteger, nullable=False),
    Column("world_size", Integer),
    Column("period_s", Float),
    Column("endpoints", Text, nullable=False),
    Column("hosts", Text, nullable=False),
    Column("smallest_slowdown_ratio", Float),
    Column("reasons", Text, nullable=False),
    Index(None, "last_seen_ns"),
    Index(None, "tenant"),
)

LAYOUTS = Table(
    "layouts",
    METADATA,
    Column("job", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("since_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("layout", Text, nullable=False),
    Column("groups", Text, nullable=False),
)

BASELINES = Table(
    "baselines",
    METADATA,
    Column("job", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("made_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("since_ns", BigInteger, nullable=False),
    Column("origin", String(20), nullable=False),
    Column("author", String(200), nullable=False),
    Column("iteration_ns", Float),
    Column("iterations", BigInteger, nullable=False),
    Column("iteration_bytes", Float, nullable=False),
    Column("sizes", Text, nullable=False),
)

PATH_PLANS = Table(
    "path_plans",
    METADATA,
    Column("job", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("seen_ns", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("newest", Text, nullable=False),
)

ENDPOINT_PATTERNS = Table(
    "endpoint_patterns",
    METADATA,
    Column("job", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("start_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("endpoints", Text, nullable=False),
    Column("packed", LargeBinary, nullable=False),
    Column("functions", LargeBinary),
    Index(None, "end_ns"),
)

INCIDENTS = Table(
    "incidents",
    METADATA,
    Column("id", String(200), primary_key=True),
    Column("job", String(200)),
    Column("kind", String(50), nullable=False),
    Column("state", String(20), nullable=False),
    Column("severity", String(20), nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("seen_ns", BigInteger, nullable=False),
    Column("resolved_ns", BigInteger),
    Column("document", Text, nullable=False),
    Index(None, "state", "seen_ns"),
    Index(None, "job", "seen_ns"),
)

INCIDENT_CHANGES = Table(
    "incident_changes",
    METADATA,
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
    Column("time_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(50), primary_key=True),
    Column("detail", Text, nullable=False),
)

HOST_ANSWERS = Table(
    "host_answers",
    METADATA,
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
    Column("document", Text, nullable=False),
)

INCIDENT_PROFILES = Table(
    "incident_profiles",
    METADATA,
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
    Column("document", Text, nullable=False),
)

ROLLUPS = Table(
    "rollups",
    METADATA,
    Column("job", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("length_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("start_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("iterations", Integer, nullable=False),
    Column("iteration_ns", BigInteger, nullable=False),
    Column("shortest_ns", BigInteger, nullable=False),
    Column("longest_ns", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("worst_slowdown_ratio", Float, nullable=False),
    Column("worst_severity", String(20)),
    Index(None, "start_ns"),
)

FEED_STATISTICS = Table(
    "feed_statistics",
    METADATA,
    Column("exporter", String(200), primary_key=True),
    Column("length_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("start_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("datagrams", BigInteger, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("lost", BigInteger, nullable=False),
    Column("late", BigInteger, nullable=False),
    Column("duplicates", BigInteger, nullable=False),
    Column("rejected", Text, nullable=False),
    Index(None, "start_ns"),
)

INVENTORIES = Table(
    "inventories",
    METADATA,
    Column("time_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("sha256", String(64), nullable=False),
    Column("author", String(200), nullable=False),
    Column("document", Text, nullable=False),
)

USERS = Table(
    "users",
    METADATA,
    Column("name", String(200), primary_key=True),
    Column("role", String(20), nullable=False),
    Column("tenant", String(500)),
    Column("password_hash", Text, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("disabled", Boolean(create_constraint=False), nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(100), primary_key=True),
    Column("user", ForeignKey("users.name", ondelete="CASCADE"), nullable=False),
    Column("hash", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("expires_ns", BigInteger),
    Column("revoked_ns", BigInteger),
    Index(None, "user"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("request", String(200), nullable=False),
    Column("time_ns", BigInteger, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("action", String(200), nullable=False),
    Column("subject", String(500), nullable=False),
    Column("detail", Text, nullable=False),
    UniqueConstraint("request"),
    Index(None, "time_ns"),
)

INCIDENT_NOTES = Table(
    "incident_notes",
    METADATA,
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
    Column("time_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("author", String(200), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("text", Text, nullable=False),
    Column("until_ns", BigInteger),
)

LEASES = Table(
    "leases",
    METADATA,
    Column("name", String(200), primary_key=True),
    Column("holder", String(200), nullable=False),
    Column("until_ns", BigInteger, nullable=False),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("job", String(200), primary_key=True),
    Column("kind", String(50), primary_key=True),
    Column("start_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("end_ns", BigInteger),
    Column("detail", Text, nullable=False),
    Column("change", Text),
    Index(None, "start_ns"),
)

ALERTS = Table(
    "alerts",
    METADATA,
    Column("id", String(200), primary_key=True),
    Column("receiver", String(200), nullable=False),
    Column("incident", String(200), nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("due_ns", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("sent_ns", BigInteger),
    Column("problem", Text, nullable=False),
    Column("document", Text, nullable=False),
    Index(None, "receiver", "sent_ns", "due_ns", "created_ns"),
    Index(None, "incident"),
    Index(None, "created_ns"),
)

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("hash", String(100), primary_key=True),
    Column("user", ForeignKey("users.name", ondelete="CASCADE"), nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("expires_ns", BigInteger, nullable=False),
    Index(None, "user"),
)

SCAN_REQUESTS = Table(
    "scan_requests",
    METADATA,
    Column("id", String(100), primary_key=True),
    Column("policy", String(200), nullable=False),
    Column("jobs", Text, nullable=False),
    Column("window_start_ns", BigInteger),
    Column("window_end_ns", BigInteger),
    Column("author", String(200), nullable=False),
    Column("requested_ns", BigInteger, nullable=False),
    Column("state", String(20), nullable=False),
    Column("finished_ns", BigInteger),
    Column("detail", Text, nullable=False),
    Index(None, "state", "requested_ns"),
)

PARTS = Table(
    "parts",
    METADATA,
    Column("name", String(200), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("started_ns", BigInteger, nullable=False),
    Column("seen_ns", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
)
