"""Plans of paths last from scan to scan, so that what became of one is seen after it was applied."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the table of plans."""
    op.create_table(
        "path_plans",
        sa.Column("job", sa.String(200), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seen_ns", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("newest", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("path_plans")
