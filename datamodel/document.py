"""The base of every document that outlives a version: closed, immutable, JSON in and out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """A closed record: unknown fields are an error, values are not changed after construction."""

    model_config = ConfigDict(extra="forbid", frozen=True)
