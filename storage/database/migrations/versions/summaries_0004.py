"""Short columns for lists of jobs and scans next to the long documents: a job's detectability, a scan's summary."""

import sqlalchemy as sa
from alembic import op

from storage.database.scans.summaries import summary_of

revision = "0004"
down_revision = "0003"

_BATCH = 200


def upgrade() -> None:
    """Add the columns, and read a summary out of every scan that is kept already."""
    op.add_column("jobs", sa.Column("smallest_slowdown_ratio", sa.Float))
    op.add_column("jobs", sa.Column("reasons", sa.Text, nullable=False, server_default="[]"))
    op.add_column("scans", sa.Column("summary", sa.Text, nullable=False, server_default="{}"))
    _fill()


def _fill() -> None:
    keys = ("policy", "window_end_ns", "window_start_ns")
    scans = sa.table("scans", *(sa.column(name) for name in (*keys, "document", "summary")))
    connection = op.get_bind()
    same = sa.and_(*(scans.c[name] == sa.bindparam(f"the_{name}") for name in keys))
    known = connection.execute(sa.select(*(scans.c[name] for name in keys))).all()
    for begin in range(0, len(known), _BATCH):
        rows = [{f"the_{name}": getattr(key, name) for name in keys} for key in known[begin : begin + _BATCH]]
        for row in rows:
            document = connection.execute(sa.select(scans.c.document).where(same), row).scalar_one()
            row["said"] = summary_of(document)
        connection.execute(sa.update(scans).where(same).values(summary=sa.bindparam("said")), rows)


def downgrade() -> None:
    """Remove the columns, in place: SQLite would empty what refers to a table that is recreated."""
    for table, column in (("scans", "summary"), ("jobs", "reasons"), ("jobs", "smallest_slowdown_ratio")):
        op.execute(sa.text(f"ALTER TABLE {table} DROP COLUMN {column}"))
