"""Prose uses the field's words: none of the drop list in the packages and pages that are finished."""

import re

import pytest

from tests.house.checkout import ROOT, files

# What each dropped word stands for; choose by sense.
REPLACEMENTS = {
    "tell": "report, record, show, give, notify, configure",
    "tells": "reports, records, shows, gives",
    "told": "reported, exported, known, sent, configured",
    "telling": "reporting, showing",
    "untold": "unsent, unknown",
    "mend": "fix",
    "mended": "fixed",
    "mending": "fixing",
    "hear": "receive",
    "heard": "received",
    "hears": "receives",
    "whom": "name the endpoint, the receiver, the user",
    "nobody": "no user, no process, none",
    "somebody": "a user, a process",
    "anybody": "any user, any process",
    "everybody": "all users, all endpoints",
    "whoever": "name the user, the process, the endpoint",
    "anew": "again",
    "beside": "next to, with, besides",
    "of which": "whose, with; or two sentences",
}
DROPPED = re.compile(rf"(?<!\.)\b({'|'.join(sorted(REPLACEMENTS, key=len, reverse=True))})\b(?!\()", re.IGNORECASE)

FINISHED = (
    "capture/",
    "storage/",
    "datamodel/",
    "simulate/",
    "strategy/",
    "flowprism/",
    "deploy/",
    "docs/",
    "README.md",
    "CONTRIBUTING.md",
)
SETTINGS_FILES = (".conf", ".sh", ".service", ".yml", ".yaml")
# Lines that may hold one: names that are stored or published, and words of other systems.
ALLOWED = {
    "datamodel/service/api_models.py": ("told: int",),
    "datamodel/telemetry/exporter_stats.py": ("told: ",),
    "flowprism/service/access/accounts/passwords.py": ('b"nobody"',),
}


def finished() -> list[str]:
    """Code, templates, pages and shipped settings that are held to the list, relative to the checkout."""
    names = (path.relative_to(ROOT).as_posix() for path in files())
    return [
        name for name in names if name.startswith(FINISHED) and name.endswith((".py", ".html", ".md", *SETTINGS_FILES))
    ]


def test_no_dropped_word() -> None:
    """Docstrings, comments, names, messages and pages say what is meant in the words of networks and training."""
    problems = []
    for name in finished():
        text = (ROOT / name).read_text()
        if not DROPPED.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if any(allowed in line for allowed in ALLOWED.get(name, ())):
                continue
            problems += [
                f"{name}:{number}: '{word}': say {REPLACEMENTS[word.lower()]}" for word in DROPPED.findall(line)
            ]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("text", ["what it told us", "Nobody waits", "half of which is lost"])
def test_dropped_word_is_found(text: str) -> None:
    """The pattern finds whole words in either case."""
    assert DROPPED.search(text)


@pytest.mark.parametrize("text", ["told_rate", "file.tell()", "besides", "hearth"])
def test_other_words_are_not_found(text: str) -> None:
    """Identifiers of the standard library and longer words are no hits."""
    assert not DROPPED.search(text)
