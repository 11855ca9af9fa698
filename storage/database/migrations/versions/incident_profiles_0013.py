"""What profiles show of an incident is kept with it."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make the table of profiles."""
    op.create_table(
        "incident_profiles",
        sa.Column("incident", sa.String(200), sa.ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("incident_profiles")
