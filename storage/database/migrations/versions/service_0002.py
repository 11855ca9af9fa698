"""What a service of several replicas needs: leases, and what people note about incidents."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "incident_notes",
        sa.Column("incident", sa.String(200), nullable=False),
        sa.Column("time_ns", sa.BigInteger, nullable=False),
        sa.Column("author", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("until_ns", sa.BigInteger),
        sa.PrimaryKeyConstraint("incident", "time_ns", "author", "kind", name="pk_incident_notes"),
        sa.ForeignKeyConstraint(["incident"], ["incidents.id"], name="fk_incident_notes_incident", ondelete="CASCADE"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("holder", sa.String(200), nullable=False),
        sa.Column("until_ns", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_table("leases")
    op.drop_table("incident_notes")
