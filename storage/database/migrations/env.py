"""Alembic's environment: runs steps in the transaction that `storage.database.schema_migration` hands in."""

from alembic import context

from storage.database.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
