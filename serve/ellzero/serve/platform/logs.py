"""Log lines, as JSON for programs or as text for people."""

import asyncio
import logging
import os
import sys
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

_FLUSH_SECONDS = 0.1


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, event, and the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info))
        return orjson.dumps(line, default=str).decode()


class TextLines(logging.Formatter):
    """The same for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return " ".join([super().format(record), *(f"{name}={value}" for name, value in fields.items())])


class AccessLog:
    """One line a request on standard error, written in groups: a record of `logging` costs more than a lookup."""

    def __init__(self, form: str, level: str) -> None:
        self._form = form
        # debug and info log all requests, the other levels only answers of 5xx
        self._least_status = 0 if level in ("debug", "info") else 500
        self._second = 0
        self._stamp = ""
        self._lines: list[str] = []
        self._worker = os.getpid()

    def flush(self) -> None:
        """Write the lines collected so far."""
        lines, self._lines = self._lines, []
        if lines:
            with suppress(OSError):  # the log is not read any more
                sys.stderr.write("\n".join([*lines, ""]))

    def write_request(
        self, method: str, path: str, status: int, seconds: float, request_id: str, key_name: str | None = None
    ) -> None:
        """Log a request, with the worker's process id and the name of its API key; answers of 5xx are warnings."""
        if status < self._least_status:
            return
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self._second))
        level = "info" if status < 500 else "warning"
        stamp = f"{self._stamp}.{int(now % 1 * 1000):03d}+00:00"
        if self._form == "text":
            shown = path if path.isprintable() else ascii(path)  # a path must not forge lines of the log
            line = f"{stamp[11:19]} {level.upper()} {method} {shown} {status} {seconds * 1e3:.1f} ms {request_id}"
            line += f" worker={self._worker}"
            if key_name is not None:
                line += f" key={key_name if key_name.isprintable() else ascii(key_name)}"
        else:
            line = orjson.dumps(
                {
                    "time": stamp,
                    "level": level,
                    "logger": "ellzero.serve.access",
                    "event": "request",
                    "method": method,
                    "path": path,
                    "status": status,
                    "ms": round(seconds * 1e3, 3),
                    "request_id": request_id,
                    "worker": self._worker,
                    **({} if key_name is None else {"key": key_name}),
                }
            ).decode()
        if not self._lines:
            asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self.flush)
        self._lines.append(line)


def make_log_config(form: str, level: str) -> dict[str, Any]:
    """Return the configuration for logging.config.dictConfig: everything to standard error, in one format."""
    formatter = {"json": "ellzero.serve.platform.logs.JsonLines", "text": "ellzero.serve.platform.logs.TextLines"}[form]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "handlers": {"standard_error": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {
            name: {"handlers": ["standard_error"], "level": level.upper(), "propagate": False}
            for name in ("ellzero", "uvicorn")
        },
    }
