"""Documents as JSON text: the same document always gives the same bytes."""

from __future__ import annotations

import json

from datamodel.document import Document


def render_json(document: Document) -> str:
    """A report, or another document, with sorted keys, two spaces of indent and a newline at the end; pure ASCII.

    Raises:
        ValueError: a number in it is infinite or not a number, which JSON cannot say.
    """
    content = document.model_dump(mode="json", by_alias=True)
    return json.dumps(content, sort_keys=True, indent=2, allow_nan=False) + "\n"
