"""What the service says while it runs: one line an event, with fields; JSON for machines, text for people."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, Literal, TextIO

import structlog
from pydantic import BaseModel, ConfigDict, Field
from structlog.typing import EventDict, Processor

# Values under these names are secret; libraries' messages may hold a token's text as well.
SECRET_NAMES = frozenset({"authorization", "cookie", "password", "secret", "token_text"})
HIDDEN = "***"
_TOKEN_TEXT = re.compile(r"\bfp_([0-9a-f]{16})_[A-Za-z0-9_-]+")
# Libraries that log too much in normal operation.
_QUIET = (
    "alembic",
    "apscheduler",
    "sqlalchemy",
    "urllib3",
    "botocore",
    "distributed",
    "uvicorn.access",
    "multipart",
    "asyncio",
)


class LogSettings(BaseModel):
    """The section `log`: what is said on stderr, and in which form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="what is less than this is not said; `debug` has every request that was answered"
    )
    format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="`console` is for people, `json` one object a line; `auto`: by whether stderr is a terminal",
    )


def configure_logs(settings: LogSettings, component: str, stream: TextIO | None = None) -> None:
    """Have everything that this process logs, libraries' messages and warnings too, said in one form.

    Args:
        settings: level and form.
        component: of the service that this process is; stands in every line.
        stream: where to; stderr where it is left out.
    """
    out = stream if stream is not None else sys.stderr
    console = settings.format == "console" or (settings.format == "auto" and out.isatty())
    shared = _shared(component)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(console, out)],
        )
    )
    logging.basicConfig(handlers=[handler], level=settings.level.upper(), force=True)
    logging.captureWarnings(capture=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(settings.level.upper())))


def _shared(component: str) -> list[Processor]:
    """What is done to every line before it is written."""

    def of_part(_: object, __: str, event: EventDict) -> EventDict:
        return {**event, "component": component}

    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        of_part,
        _without_secrets,
    ]


def _rendering(console: bool, out: TextIO) -> list[Processor]:
    if console:
        plain = structlog.dev.plain_traceback  # the usual one shows variables, secrets among them, and takes its time
        return [
            _on_one_line,
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(), timestamp_key="time", pad_event_to=40, exception_formatter=plain
            ),
        ]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(sort_keys=True, default=str)]


def _without_secrets(_: object, __: str, event: EventDict) -> EventDict:
    return {name: HIDDEN if name.lower() in SECRET_NAMES else _hidden(value) for name, value in event.items()}


def _hidden(value: Any) -> Any:  # noqa: ANN401 - whatever is logged
    return _TOKEN_TEXT.sub(rf"fp_\1_{HIDDEN}", value) if isinstance(value, str) else value


def _on_one_line(_: object, __: str, event: EventDict) -> EventDict:
    """Text of strangers, such as a name they log in with, must not look like lines of ours."""
    return {
        name: value.encode("unicode_escape").decode() if isinstance(value, str) and not value.isprintable() else value
        for name, value in event.items()
    }
