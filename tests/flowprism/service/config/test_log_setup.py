"""What the service says: one form for all, and nothing that is secret."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog

from flowprism.service.config.log_setup import LogSettings, configure_logs


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logging is one for the whole process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def said(level: str = "info", form: str = "json") -> io.StringIO:
    """Where this process logs to from now on."""
    out = io.StringIO()
    configure_logs(LogSettings.model_validate({"level": level, "format": form}), "scanner", out)
    return out


def test_json_lines() -> None:
    """One object a line with time, level, component and fields, of ours and of libraries alike."""
    out = said()
    structlog.get_logger("flowprism.x").info("window scanned", policy="default", findings=2)
    logging.getLogger("library").warning("cannot reach %s", "host")
    ours, theirs = map(json.loads, out.getvalue().splitlines())
    assert ours.pop("time").endswith("Z")
    assert (ours["event"], ours["level"], ours["logger"]) == ("window scanned", "info", "flowprism.x")
    assert (ours["component"], ours["policy"], ours["findings"]) == ("scanner", "default", 2)
    assert (theirs["event"], theirs["level"], theirs["logger"]) == ("cannot reach host", "warning", "library")


def test_level() -> None:
    """What is less than the level is not said; talkative libraries speak up only when something is wrong."""
    out = said("warning")
    structlog.get_logger("flowprism.x").info("not said")
    logging.getLogger("library").info("not said")
    assert out.getvalue() == ""
    out = said("debug")
    structlog.get_logger("flowprism.x").debug("said")
    logging.getLogger("sqlalchemy.engine").info("not said")
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == ["said"]


def test_an_exception_is_one_line() -> None:
    """With its traceback as a field."""
    out = said()
    try:
        int("boom")
    except ValueError:
        structlog.get_logger("flowprism.x").exception("scan failed")
    (line,) = out.getvalue().splitlines()
    assert "ValueError: invalid literal" in json.loads(line)["exception"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_secrets_are_not_said(form: str) -> None:
    """Neither by name nor where a token's text stands in a message of a library."""
    out = said(form=form)
    structlog.get_logger("flowprism.x").info("asked", password="hunter2hunter2", Authorization="Bearer x1y2z3")  # noqa: S106 - it must not be said
    logging.getLogger("library").warning("refused: Bearer %s", "fp_0123456789abcdef_s3cr-e_t")
    assert not any(secret in out.getvalue() for secret in ("hunter2", "x1y2z3", "s3cr"))
    assert "fp_0123456789abcdef_***" in out.getvalue()


@pytest.mark.parametrize("form", ["json", "console"])
def test_strangers_write_no_lines(form: str) -> None:
    """A name with a line break, or one that colours a terminal, stays inside its line."""
    out = said(form=form)
    structlog.get_logger("flowprism.x").warning("log-in failed", name="a\n2026-01-01 [info] logged in name=root\x1b[2J")
    assert len(out.getvalue().splitlines()) == 1
    assert "\x1b[2J" not in out.getvalue()


def test_warnings_are_lines_too() -> None:
    """Python's own."""
    out = said()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old way", DeprecationWarning, stacklevel=1)
    assert "old way" in json.loads(out.getvalue().splitlines()[0])["event"]
