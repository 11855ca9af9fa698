"""Which of the waiting alerts make up the next message to a receiver. Plain functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamodel.service.alerts import OutgoingAlert
from datamodel.service.result_rows import IncidentNote
from flowprism.service.alerts.alert_settings import AlertmanagerReceiver, Grouping, Receiver

MOST_TOGETHER = 100
_FIRST_WAIT_S, _LONGEST_WAIT_S, _MOST_DOUBLINGS = 5.0, 300.0, 6


def grouping(receiver: Receiver) -> Grouping:
    """What one message to a receiver is about; an Alertmanager groups by itself."""
    return "all" if isinstance(receiver, AlertmanagerReceiver) else receiver.group


def next_message(waiting: Iterable[OutgoingAlert], by: Grouping, now_ns: int) -> list[OutgoingAlert]:
    """The alerts of the next message that is due; none where none is.

    The first of a group waits for others, and takes along what is there when it is due. Alerts that were tried
    together go together for ever, so that a repetition is the same message. What came later to the same group waits
    for them: an end never overtakes a beginning.

    Args:
        waiting: in order of creation.
        by: what a message is about.
        now_ns: UTC.
    """
    groups: dict[str | None, list[OutgoingAlert]] = {}
    for one in waiting:
        groups.setdefault(_group(one, by), []).append(one)
    for group in groups.values():
        tried = next((one.message for one in group if one.message), None)
        chosen = [one for one in group if one.message == tried][:MOST_TOGETHER] if tried else group[:MOST_TOGETHER]
        if chosen[0].due_ns <= now_ns:
            return chosen
    return []


def _group(one: OutgoingAlert, by: Grouping) -> str | None:
    return {"incident": one.alert.incident.id, "job": one.alert.incident.job, "all": None}[by]


def compute_retry_delay_s(attempts: int, asked_s: float) -> float:
    """How long a receiver that has refused so often is left alone, which itself asked for `asked_s`."""
    own_s = _FIRST_WAIT_S * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS)
    return max(min(own_s, _LONGEST_WAIT_S), asked_s)


def muting(notes: Sequence[IncidentNote], now_ns: int) -> IncidentNote | None:
    """The note by which an incident is muted now; None where it is not.

    Args:
        notes: about one incident, in order of time.
        now_ns: UTC.
    """
    last = next((note for note in reversed(notes) if note.kind in {"muted", "unmuted"}), None)
    if last is None or last.kind == "unmuted":
        return None
    return last if last.until_ns is None or now_ns < last.until_ns else None


def acknowledged(notes: Sequence[IncidentNote], worsened_ns: int) -> bool:
    """Check whether an incident was acknowledged after it opened, reopened or escalated at `worsened_ns`."""
    return any(note.kind == "acknowledged" and note.time_ns >= worsened_ns for note in notes)
