"""The published JSON Schemas are those of the code."""

import json

from jsonschema import Draft202012Validator

from datamodel.schemas.published import documents
from tests.house.checkout import ROOT

FOLDER = ROOT / "docs" / "schemas"


def test_published_schemas_are_the_codes() -> None:
    """docs/schemas holds exactly what `python -m datamodel.schemas docs/schemas` writes."""
    published = {path.name: json.loads(path.read_text()) for path in FOLDER.iterdir()}
    assert published == documents()


def test_published_schemas_are_schemas() -> None:
    """Each is a valid JSON Schema of the draft it is published under."""
    for path in sorted(FOLDER.iterdir()):
        Draft202012Validator.check_schema(json.loads(path.read_text()))
