"""What hosts answered about an incident is kept with it."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the table of answers."""
    op.create_table(
        "host_answers",
        sa.Column("incident", sa.String(200), sa.ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("host_answers")
