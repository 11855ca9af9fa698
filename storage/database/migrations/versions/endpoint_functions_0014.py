"""Patterns have what an endpoint was like in each function."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column; patterns of earlier scans have none."""
    with op.batch_alter_table("endpoint_patterns") as table:
        table.add_column(sa.Column("functions", sa.LargeBinary))


def downgrade() -> None:
    """Remove it."""
    with op.batch_alter_table("endpoint_patterns") as table:
        table.drop_column("functions")
