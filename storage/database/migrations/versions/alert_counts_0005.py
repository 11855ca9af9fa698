"""Alerts are counted by receiver every few seconds, and listed by time: neither may read every alert."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the indexes; the first takes the place of the one it begins like."""
    op.drop_index("ix_alerts_sent_ns_due_ns", "alerts")
    op.create_index("ix_alerts_receiver_sent_ns_due_ns_created_ns", "alerts", _COUNTED)
    op.create_index("ix_alerts_created_ns", "alerts", ["created_ns"])


def downgrade() -> None:
    """Make the former index again."""
    op.drop_index("ix_alerts_created_ns", "alerts")
    op.drop_index("ix_alerts_receiver_sent_ns_due_ns_created_ns", "alerts")
    op.create_index("ix_alerts_sent_ns_due_ns", "alerts", ["sent_ns", "due_ns"])


_COUNTED = ["receiver", "sent_ns", "due_ns", "created_ns"]
