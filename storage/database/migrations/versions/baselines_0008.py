"""What an iteration of a job takes lasts from scan to scan, so that a slow job is seen whenever its slowdown began."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the table of baselines."""
    op.create_table(
        "baselines",
        sa.Column("job", sa.String(200), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("made_ns", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("since_ns", sa.BigInteger, nullable=False),
        sa.Column("origin", sa.String(20), nullable=False),
        sa.Column("author", sa.String(200), nullable=False),
        sa.Column("iteration_ns", sa.Float),
        sa.Column("iterations", sa.BigInteger, nullable=False),
        sa.Column("iteration_bytes", sa.Float, nullable=False),
        sa.Column("sizes", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("baselines")
