"""Counters of requests: by route, never by path, and by nothing that a stranger can make up."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class HttpMetrics:
    """What one process of the API has answered."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._answered = Counter(
            "flowprism_http_requests",
            "Requests answered, by method, route and status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "flowprism_http_request_duration_seconds",
            "Time from a request to the end of its answer.",
            ("route",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self.under_way = Gauge(
            "flowprism_http_requests_in_progress", "Requests under way, live streams among them.", registry=registry
        )
        self._logins = Counter(
            "flowprism_logins", "Log-ins by password, by outcome: ok, wrong, wait.", ("outcome",), registry=registry
        )
        for outcome in ("ok", "wrong", "wait"):
            self._logins.labels(outcome)
        self._closed = Counter(
            "flowprism_http_connections_closed",
            "Connections closed by us: the request's header or body took too long, or there were too many.",
            ("cause",),
            registry=registry,
        )
        for cause in ("header", "body", "too many"):
            self._closed.labels(cause)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; status 499 is that the client left before the answer."""
        self._answered.labels(method if method in METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def login(self, outcome: str) -> None:
        """Count a log-in."""
        self._logins.labels(outcome).inc()

    def connection_closed(self, cause: str) -> None:
        """Count a connection that was closed before its request was whole."""
        self._closed.labels(cause).inc()
