"""What a service that runs by itself needs: events, alerts to deliver, log-ins, scans asked for, and its parts."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "events",
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(50), nullable=False),
        sa.Column("start_ns", sa.BigInteger, nullable=False),
        sa.Column("end_ns", sa.BigInteger),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("job", "kind", "start_ns", name="pk_events"),
    )
    op.create_index("ix_events_start_ns", "events", ["start_ns"])
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("receiver", sa.String(200), nullable=False),
        sa.Column("incident", sa.String(200), nullable=False),
        sa.Column("created_ns", sa.BigInteger, nullable=False),
        sa.Column("due_ns", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("sent_ns", sa.BigInteger),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
    )
    op.create_index("ix_alerts_sent_ns_due_ns", "alerts", ["sent_ns", "due_ns"])
    op.create_index("ix_alerts_incident", "alerts", ["incident"])
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(100), nullable=False),
        sa.Column("user", sa.String(200), nullable=False),
        sa.Column("created_ns", sa.BigInteger, nullable=False),
        sa.Column("expires_ns", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_sessions"),
        sa.ForeignKeyConstraint(["user"], ["users.name"], name="fk_sessions_user", ondelete="CASCADE"),
    )
    op.create_index("ix_sessions_user", "sessions", ["user"])
    _scan_requests()
    op.create_table(
        "parts",
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("started_ns", sa.BigInteger, nullable=False),
        sa.Column("seen_ns", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_parts"),
    )


def _scan_requests() -> None:
    op.create_table(
        "scan_requests",
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("policy", sa.String(200), nullable=False),
        sa.Column("jobs", sa.Text, nullable=False),
        sa.Column("window_start_ns", sa.BigInteger),
        sa.Column("window_end_ns", sa.BigInteger),
        sa.Column("author", sa.String(200), nullable=False),
        sa.Column("requested_ns", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("finished_ns", sa.BigInteger),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scan_requests"),
    )
    op.create_index("ix_scan_requests_state_requested_ns", "scan_requests", ["state", "requested_ns"])


def downgrade() -> None:
    """Remove them."""
    for table in ("parts", "scan_requests", "sessions", "alerts", "events"):
        op.drop_table(table)
