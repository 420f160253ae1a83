"""Serves a page on 127.0.0.1 that follows a running experiment. It serves the page and its state, and no files."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rffbench import __version__
from rffbench.errors import ConfigError
from rffbench.report.page.render import own_file, render
from rffbench.report.page.watch import Watch

ADDRESS = "127.0.0.1"
SECONDS = 2  # between two requests of the page
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself contains the rest of its policy
}


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

        def do_GET(self) -> None:
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
        server = ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; without it, a free port is taken") from error
    hosts = {f"{name}:{server.server_port}" for name in (ADDRESS, "localhost")}
    return server


def address(server: ThreadingHTTPServer) -> str:
    return f"http://{ADDRESS}:{server.server_port}/"
