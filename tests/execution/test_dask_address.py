"""An address for the executor dask at which something else answers, or nothing."""

import socket
import threading
import time
from contextlib import closing

import pytest

from rffbench.errors import ConfigError
from rffbench.execution import make_executor
from tests.helpers.execution_workers import FakeExperiment, spec

pytestmark = pytest.mark.slow

pytest.importorskip("distributed", reason="needs the extra dask")


def refused(*, limit=15.0, **options):
    """What is said of the cluster; no thread and no client is left over that would print something later."""
    started = time.monotonic()
    with pytest.raises(ConfigError) as error:
        make_executor("dask", FakeExperiment([spec()]), options={"timeout": 2.0, **options})
    assert time.monotonic() - started < limit
    assert not [thread.name for thread in threading.enumerate() if "IO loop" in thread.name]
    return str(error.value)


ANSWERS = {
    "nothing": b"",
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
    "an endless frame": (1 << 40).to_bytes(8, "little") + b"x" * 100,
    "no frames": bytes(8),
    "end": None,
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_another_kind_of_server_is_refused_within_the_timeout(answer):
    def serve():
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            if ANSWERS[answer] is None:
                client.close()
            else:
                client.sendall(ANSWERS[answer])
                clients.append(client)

    clients = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=serve, daemon=True).start()
        where = f"127.0.0.1:{server.getsockname()[1]}"
        assert f"no scheduler of dask answers at tcp://{where} within 2 s (" in refused(address=where)
    for client in clients:
        client.close()


NONSENSE = [
    "", "nonsense", "[]", "5", "null", "{}", '{"address": null}', '{"address": 5}', '{"address": "nonsense"}',
    '{"address": "tcp://127.0.0.1"}', '{"address": "tcp://127.0.0.1:99999"}', '{"address": ["tcp://a:1"]}',
    "[" * 90_000,
]  # fmt: skip


@pytest.mark.parametrize("content", NONSENSE)
def test_a_scheduler_file_of_nonsense_is_refused_before_the_timeout(tmp_path, content):
    (tmp_path / "scheduler.json").write_text(content)
    said = refused(scheduler_file=str(tmp_path / "scheduler.json"), timeout=120.0, limit=60.0)
    assert said.endswith("scheduler.json: is not a file that dask's scheduler has written")


def test_a_scheduler_file_of_another_protocol_or_of_a_cluster_that_is_gone_is_refused(tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    for address in (f"tcp://127.0.0.1:{port}", "foo://127.0.0.1:8786"):
        (tmp_path / "scheduler.json").write_text(f'{{"address": "{address}"}}')
        said = refused(scheduler_file=str(tmp_path / "scheduler.json"))
        assert said.startswith(f"executor dask: no scheduler of dask answers at {address} within 2 s (")
