"""What faults cost follows from accounts: no query reads the stretches with a finding apart from the others."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
_HIT = sa.text("worst_severity IS NOT NULL")


def upgrade() -> None:
    """Remove the index of stretches with a finding, which every stored window had to keep."""
    op.drop_index("ix_rollups_hit", "rollups")


def downgrade() -> None:
    """Make it again."""
    op.create_index("ix_rollups_hit", "rollups", ["length_ns", "start_ns"], sqlite_where=_HIT, postgresql_where=_HIT)
