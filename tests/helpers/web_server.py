"""A web server on this machine, and the card of a file that it may have."""

import contextlib
import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rffbench.data.cards import Card

CONTENT = b"1,2,no\n3,4,yes\n" * 20_000


class Server:
    """A web server on this machine: gives ``content``, 404 for the rest, and notes what was asked."""

    def __init__(self):
        self.content: dict[str, bytes] = {}
        self.status: dict[str, list[int]] = {}
        self.cut: set[str] = set()
        self.asked: list[str] = []
        self.raw: dict[str, list[bytes]] = {}  # whole answers, from the status line on, for one request each
        self.pieces: dict[str, Iterator[bytes]] = {}  # of an answer, one every now and then
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                if raw := outer.raw.get(self.path):
                    self.wfile.write(raw.pop(0))
                    self.close_connection = True
                    return
                if self.path in outer.pieces:
                    with contextlib.suppress(OSError):
                        for piece in outer.pieces[self.path]:
                            self.wfile.write(piece)
                            time.sleep(0.02)
                    return
                statuses = outer.status.get(self.path, [])
                status = statuses.pop(0) if statuses else 200 if self.path in outer.content else 404
                self.send_response(status)
                body = outer.content.get(self.path, b"") if status == 200 else b"sorry"
                self.send_header("Content-Length", str(len(body)))
                if self.path.endswith(".gz") and "gzip" in self.headers.get("Accept-Encoding", ""):
                    self.send_header("Content-Encoding", "gzip")  # as some servers do with any .gz
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if self.path in outer.cut else body)

            def log_message(self, *_):
                pass

        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"
        threading.Thread(target=self.httpd.serve_forever, args=(0.01,), daemon=True).start()


def card(*urls, name="a file.csv") -> Card:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return Card.model_validate(
        {
            "name": "small", "title": "Small", "task": "classification", "rows": 40_000, "columns": 2,
            "classes": {"no": 20_000, "yes": 20_000}, "labels": {"positive": ["yes"]},
            "split": {"rule": "half"}, "format": {"kind": "csv"}, "folder": "some folder",
            "licence": "none", "citation": "none",
            "files": [{"name": name, "checksum": f"sha256:{digest}", "urls": list(urls)}],
        }
    )  # fmt: skip
