"""Documents in files: what is none is refused with the file, the document's name and the first wrong field."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.document import Document
from datamodel.errors import InputError
from flowprism.inputs.document_file import read_document


class Answer(Document):
    """A document with a list inside."""

    figures: tuple[int, ...]


def test_a_written_document_is_read(tmp_path: Path) -> None:
    """As it was written."""
    (tmp_path / "answer.json").write_text(Answer(figures=(1, 2)).model_dump_json())
    assert read_document(tmp_path / "answer.json", Answer, "answer") == Answer(figures=(1, 2))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (None, "No such file or directory"),
        ("{", "no answer: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ("{}", "no answer: figures: Field required"),
        ('{"figures": [1, null]}', "no answer: figures.1: Input should be a valid integer"),
    ],
)
def test_another_file_is_refused(text: str | None, cause: str, tmp_path: Path) -> None:
    """In one line."""
    file = tmp_path / "answer.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_document(file, Answer, "answer")
    assert str(refused.value) == f"{file}: {cause}"
