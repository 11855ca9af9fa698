"""Events of restarts and membership changes keep who left and joined, the places and the times."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column, as JSON text."""
    op.add_column("events", sa.Column("change", sa.Text))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("events", "change")
