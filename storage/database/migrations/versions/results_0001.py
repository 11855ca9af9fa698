"""Scans, jobs, layouts, incidents, rollups, feed statistics, inventories, users, tokens, audit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "scans",
        sa.Column("policy", sa.String(200), nullable=False),
        sa.Column("window_end_ns", sa.BigInteger, nullable=False),
        sa.Column("window_start_ns", sa.BigInteger, nullable=False),
        sa.Column("started_ns", sa.BigInteger, nullable=False),
        sa.Column("finished_ns", sa.BigInteger, nullable=False),
        sa.Column("version", sa.String(50), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("policy", "window_end_ns", "window_start_ns", name="pk_scans"),
    )
    op.create_index("ix_scans_window_end_ns", "scans", ["window_end_ns"])
    _make_jobs()
    _make_incidents()
    _make_access()


def _make_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("label", sa.String(500)),
        sa.Column("tenant", sa.String(500)),
        sa.Column("first_seen_ns", sa.BigInteger, nullable=False),
        sa.Column("last_seen_ns", sa.BigInteger, nullable=False),
        sa.Column("world_size", sa.Integer),
        sa.Column("period_s", sa.Float),
        sa.Column("endpoints", sa.Text, nullable=False),
        sa.Column("hosts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_last_seen_ns", "jobs", ["last_seen_ns"])
    op.create_index("ix_jobs_tenant", "jobs", ["tenant"])
    op.create_table(
        "layouts",
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("since_ns", sa.BigInteger, nullable=False),
        sa.Column("layout", sa.Text, nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("job", "since_ns", name="pk_layouts"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_layouts_job", ondelete="CASCADE"),
    )
    op.create_table(
        "rollups",
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("length_ns", sa.BigInteger, nullable=False),
        sa.Column("start_ns", sa.BigInteger, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("iteration_ns", sa.BigInteger, nullable=False),
        sa.Column("shortest_ns", sa.BigInteger, nullable=False),
        sa.Column("longest_ns", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("worst_slowdown_ratio", sa.Float, nullable=False),
        sa.Column("worst_severity", sa.String(20)),
        sa.PrimaryKeyConstraint("job", "length_ns", "start_ns", name="pk_rollups"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_rollups_job", ondelete="CASCADE"),
    )
    op.create_index("ix_rollups_start_ns", "rollups", ["start_ns"])
    op.create_table(
        "feed_statistics",
        sa.Column("exporter", sa.String(200), nullable=False),
        sa.Column("length_ns", sa.BigInteger, nullable=False),
        sa.Column("start_ns", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("datagrams", "records", "lost", "late")),
        sa.Column("duplicates", sa.BigInteger, nullable=False),
        sa.Column("rejected", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("exporter", "length_ns", "start_ns", name="pk_feed_statistics"),
    )
    op.create_index("ix_feed_statistics_start_ns", "feed_statistics", ["start_ns"])


def _make_incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("job", sa.String(200)),
        sa.Column("kind", sa.String(50), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("severity", sa.String(20), nullable=False),
        sa.Column("start_ns", sa.BigInteger, nullable=False),
        sa.Column("seen_ns", sa.BigInteger, nullable=False),
        sa.Column("resolved_ns", sa.BigInteger),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_incidents"),
    )
    op.create_index("ix_incidents_state_seen_ns", "incidents", ["state", "seen_ns"])
    op.create_index("ix_incidents_job_seen_ns", "incidents", ["job", "seen_ns"])
    op.create_table(
        "incident_changes",
        sa.Column("incident", sa.String(200), nullable=False),
        sa.Column("time_ns", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(50), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("incident", "time_ns", "kind", name="pk_incident_changes"),
        sa.ForeignKeyConstraint(
            ["incident"], ["incidents.id"], name="fk_incident_changes_incident", ondelete="CASCADE"
        ),
    )


def _make_access() -> None:
    op.create_table(
        "inventories",
        sa.Column("time_ns", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("author", sa.String(200), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("time_ns", name="pk_inventories"),
    )
    op.create_table(
        "users",
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("tenant", sa.String(500)),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("created_ns", sa.BigInteger, nullable=False),
        sa.Column("disabled", sa.Boolean(create_constraint=False), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_users"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("user", sa.String(200), nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_ns", sa.BigInteger, nullable=False),
        sa.Column("expires_ns", sa.BigInteger),
        sa.Column("revoked_ns", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.ForeignKeyConstraint(["user"], ["users.name"], name="fk_tokens_user", ondelete="CASCADE"),
    )
    op.create_index("ix_tokens_user", "tokens", ["user"])
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "audit",
        sa.Column("number", number, autoincrement=True, nullable=False),
        sa.Column("request", sa.String(200), nullable=False),
        sa.Column("time_ns", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("action", sa.String(200), nullable=False),
        sa.Column("subject", sa.String(500), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
        sa.UniqueConstraint("request", name="uq_audit_request"),
    )
    op.create_index("ix_audit_time_ns", "audit", ["time_ns"])


def downgrade() -> None:
    """Remove the tables, those that refer to others first."""
    for table in (
        "audit", "tokens", "users", "inventories", "incident_changes", "incidents", "feed_statistics", "rollups",
        "layouts", "jobs", "scans",
    ):  # fmt: skip
        op.drop_table(table)
