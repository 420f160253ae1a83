"""Serves a page on 127.0.0.1 that follows a running experiment. It serves the page and its state, and no files."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rffbench import __version__
from rffbench.errors import ConfigError
from rffbench.report.page.render import own_file, render
from rffbench.report.page.watch import Watch

ADDRESS = "127.0.0.1"
SECONDS = 2  # between two requests of the page
TIMEOUT_S = 10.0  # within which a client must send its request, and take each part of the answer
MOST_UNREAD = 32  # connections whose request has not come yet
MOST = 128  # connections, each with a thread
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself contains the rest of its policy
}


class Server(ThreadingHTTPServer):
    """A thread for each connection. A client that is slow to send its request, or opens ever more connections, takes
    the page from nobody: what is too old is closed, and what is too much, the oldest first."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self.connections = 0
        self._unread: dict[socket.socket, float] = {}  # since when each waits for its request
        self._changes = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread, if there are not too many."""
        with self._changes:
            if len(self._unread) >= MOST_UNREAD:
                self._cut(next(iter(self._unread)))
            many = self.connections >= MOST
            if not many:
                self.connections += 1
                self._unread[request] = time.monotonic()
        if many:
            super().shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def has_read(self, request: socket.socket) -> None:
        """Note that a connection's request has come."""
        with self._changes:
            self._unread.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """The end of a connection's thread."""
        with self._changes:
            self._unread.pop(request, None)
            self.connections -= 1
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called twice a second."""
        with self._changes:
            for request, since in list(self._unread.items()):
                if time.monotonic() - since > TIMEOUT_S:
                    self._cut(request)

    def _cut(self, request: socket.socket) -> None:
        """End a connection; its thread, which reads from it, ends with it."""
        del self._unread[request]
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about clients that have gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def make_server(place: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the page of ``place`` on this machine only, at ``port``, or at a free port.

    It answers GET of / and /state.json. Requests under another host name, to which a page elsewhere may have pointed
    this address, are refused. ResultsError if there are no results, ConfigError if the port is taken.
    """
    watch = Watch(place)
    scripts = [own_file("tables.js") + own_file("live.js")]
    content = {"version": __version__, "title": str(place), "seconds": SECONDS}
    page = render("live.html", scripts, may_ask="'self'", **content).encode()

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "rffbench", ""
        timeout = TIMEOUT_S

        def do_GET(self) -> None:
            server.has_read(self.connection)
            if self.headers.get("Host") not in hosts:
                self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"asked for under another name\n")
            elif self.path == "/":
                self._answer(HTTPStatus.OK, "text/html", page)
            elif self.path == "/state.json":
                self._answer(HTTPStatus.OK, "application/json", json.dumps(watch.state(), allow_nan=False).encode())
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there are / and /state.json\n")

        def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
            self.send_response(status)
            headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(content)), **_HEADERS}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing about requests."""

    try:
        server = Server((ADDRESS, port), Handler)
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; without it, a free port is taken") from error
    hosts = {f"{name}:{server.server_port}" for name in (ADDRESS, "localhost")}
    return server


def address(server: ThreadingHTTPServer) -> str:
    return f"http://{ADDRESS}:{server.server_port}/"
