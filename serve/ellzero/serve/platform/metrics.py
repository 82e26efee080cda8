"""The service's metrics, for Prometheus."""

import os
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

# Set by the command when several processes serve; prometheus_client reads it when it is imported.
SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SHARES = tuple(share / 10 for share in range(1, 11))
_BATCHES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


class Metrics:
    """The counters of one application."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        requests = Counter("ellzero_requests", "Requests answered", ("route", "method", "status"), registry=registry)
        latency = Histogram(
            "ellzero_request_seconds", "Seconds to answer", ("route",), buckets=_LATENCIES, registry=registry
        )
        answers = Counter(
            "ellzero_answers", "Answers from the table, or computed on demand", ("source",), registry=registry
        )
        self.columns_computed = Counter("ellzero_columns_computed", "Columns computed on demand", registry=registry)
        self.batch_values = Histogram(
            "ellzero_batch_values", "Values in a batch request", buckets=_BATCHES, registry=registry
        )
        self.columns_loaded = Gauge(
            "ellzero_table_columns", "Columns of the table", registry=registry, multiprocess_mode="livemax"
        )
        self.reloads = Counter("ellzero_table_reloads", "Reloads of the table", ("outcome",), registry=registry)

        self.queue_seconds = Histogram(
            "ellzero_queue_seconds", "Seconds from a request to its first votes", buckets=_LATENCIES, registry=registry
        )
        self.batch_fill = Histogram(
            "ellzero_batch_fill", "Samples in a batch, as a share of its capacity", buckets=_SHARES, registry=registry
        )
        self.votes = Counter("ellzero_votes", "Noisy samples classified", registry=registry)
        self.jobs = Counter("ellzero_jobs", "Jobs that have ended", ("kind", "state"), registry=registry)

        # Finding a labelled metric takes longer than counting; the labels are few.
        self._request = cache(requests.labels)
        self._latency = cache(latency.labels)
        self._answer = cache(answers.labels)

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._request(route, method, status).inc()
        self._latency(route).observe(seconds)

    def count_answer(self, source: str) -> None:
        """Count an answer by its source: table or computed."""
        self._answer(source).inc()

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format, summed over all workers."""
        if SHARED_DIRECTORY in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)
