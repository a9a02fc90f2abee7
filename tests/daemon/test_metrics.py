"""A table's figures over HTTP, while nobody, or somebody else, has the port."""

from __future__ import annotations

import socket
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tablectl.daemon.metrics import Figures, MetricsServer
from tablectl.ledger.pin import TableName
from tests.live.running import until

FIGURES = Figures(TableName("site", "pit", "t07"))


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")])
def test_a_port_that_is_busy_is_told_and_taken_when_it_is_free(family: socket.AddressFamily, host: str) -> None:
    said: list[str] = []
    with socket.socket(family) as holder:
        holder.bind((host.strip("[]"), 0))
        holder.listen()
        listen = f"{host}:{holder.getsockname()[1]}"
        server = MetricsServer(listen, FIGURES, log=said.append, retry=0.05)
        server.__enter__()
        until(lambda: bool(said))
    until(lambda: len(said) > 1)
    assert said == [
        f"metrics.listen: {listen}: figures cannot be served: Address already in use; it is tried again, and the table runs on",
        f"figures are served at {listen}",
    ]
    with urlopen(f"http://{listen}/metrics") as answer:
        assert answer.read().decode() == FIGURES.render()
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://{listen}/")
    server.__exit__(None, None, None)
    with pytest.raises(ConnectionRefusedError), socket.socket(family) as late:
        late.connect((host.strip("[]"), int(listen.rpartition(":")[2])))


def test_a_port_that_is_none_is_told() -> None:
    said: list[str] = []
    with MetricsServer("127.0.0.1:70000", FIGURES, log=said.append):
        until(lambda: bool(said))
    assert "figures cannot be served: " in said[0]
