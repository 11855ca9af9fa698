"""What faults cost today is summed for every overview: it must not read every stretch of every healthy job."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
_HIT = sa.text("worst_severity IS NOT NULL")


def upgrade() -> None:
    """Make the index of stretches with a finding."""
    op.create_index("ix_rollups_hit", "rollups", ["length_ns", "start_ns"], sqlite_where=_HIT, postgresql_where=_HIT)


def downgrade() -> None:
    """Remove it."""
    op.drop_index("ix_rollups_hit", "rollups")
