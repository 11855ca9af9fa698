"""Why a datagram, set or record was left out, and what is doubtful about those that were not.

The codes are places in `EXPORTER["rejected"]` and in `SOURCE["doubts"]`.
"""

from __future__ import annotations

from capture.packets.packet_columns import REASONS as PACKET_REASONS

(
    FINE,
    BAD_COUNT,
    BAD_LENGTH,
    BYTES_LEFT,
    CAPTURE_CUT,
    BAD_SET,
    LONG_SET,
    RESERVED_SET,
    BAD_TEMPLATE,
    LONG_TEMPLATE,
    TEMPLATES_FULL,
    TEMPLATES_EVICTED,
    NO_TEMPLATE,
    TEMPLATE_LATE,
    WAITING_FULL,
    NO_RECORD,
    LONG_RECORD,
    OPTIONS_DATA,
    NO_ADDRESSES,
    NO_COUNTERS,
    EVENT,
    SAMPLERS_FULL,
    NO_SECTION,
    WITHDRAWN_OVER_UDP,
    SHORT_SET,
    FIRST_PACKET_REASON,
) = range(26)

STILL_WAITING = "set that waits for its template so far"  # no code: it is not left out yet

REASONS = (
    "",
    "NetFlow v5 record that its datagram announces but does not hold",
    "IPFIX message that is shorter than its header says",
    "bytes behind the last record or message of an export datagram",
    "export datagram cut by the capture; what lies behind the cut is missing",
    "set whose length is impossible; the rest of its datagram was not read",
    "set longer than its datagram; the whole records in it were decoded",
    "set with a reserved id",
    "malformed template",
    "template of too many fields",
    "template that found no room",
    "templates forgotten, the longest unused first, for there were too many",
    "set without a template (forgotten while it waited)",
    "set whose template did not come in time",
    "set without a template that found no room to wait",
    "set of records whose template says that they are empty",
    "record longer than its set",
    "options records (what an exporter says of itself, no flows)",
    "records that are no flows (without addresses)",
    "records that are no flows (without byte or packet counters)",
    "events that are no flows (created, denied, translated: nothing counted)",
    "samplers of one exporter too many",
    "record of an empty packet section",
    "template withdrawals over UDP (ignored, as RFC 7011 section 8.4 says)",
    "set shorter than one record of its template",
    *(f"exported packet section: {reason}" if reason else "exported packet section" for reason in PACKET_REASONS),
)

DOUBTS = 18  # room for the kinds below
(
    NO_TIMES,
    NO_BOOT_TIME,
    END_BEFORE_START,
    FAR_OFF,
    CLOCK_UNSET,
    NOT_NTP,
    TOTALS,
    LAYER2,
    RATE_UNKNOWN,
    RATE_DIFFERS,
    RATE_REPLACED,
    OTHER_PORT,
    HUGE_COUNT,
    IMPOSSIBLE_TIME,
    RATE_ROUNDED,
    NO_SAMPLER,
    UPTIME_OFF,
    AHEAD,
) = range(DOUBTS)

DOUBT_TEXTS = (
    "{} records carry no times; the time of export stands for them",
    "{} records give times since the exporter's start, which is unknown; the newest is taken as the time of export",
    "{} records end before they begin; the end stands for both",
    "{} records began more than a day before their export",
    "{} records were exported by a clock that was never set; the time of receipt stands for it",
    "{} records give times as plain counts where NTP timestamps belong (RFC 7011, 6.1.9 and 6.1.10)",
    "{} records count since their flow began, not since the record before",
    "{} records count layer-2 octets, headers included",
    "{} records come without a sampling rate, and no option gives one",
    "{} records give another sampling rate than the options do; that of the records is used",
    "{} records give another sampling rate than is configured; the configured one is used",
    "{} sets were decoded with a template that came from another port",
    "{} records count more than 2^63 bytes or packets; they were set to 0",
    "{} records give impossible times (before 2000, or long after their export); the time of export stands for them",
    "{} records give a sampling rate of one in no whole number; it is rounded",
    "{} options records announce a selector that goes by time or content, not by number; what it left out is not known",
    "{} records end, by uptime, more than a minute after or a day before their export, which then stands for the end",
    "{} records end more than a minute after their export",
)
