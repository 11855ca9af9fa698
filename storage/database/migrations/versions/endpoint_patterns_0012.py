"""Patterns of endpoints are stored, so that hosts are compared over jobs and weeks."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the table of patterns."""
    op.create_table(
        "endpoint_patterns",
        sa.Column("job", sa.String(200), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("start_ns", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("end_ns", sa.BigInteger, nullable=False),
        sa.Column("endpoints", sa.Text, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_endpoint_patterns_end_ns", "endpoint_patterns", ["end_ns"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("endpoint_patterns")
