"""Which Spark is meant, and from which address it is spoken to."""

from __future__ import annotations

import socket

import pytest

from model.refusal import Refusal
from spark_analysis import master
from spark_analysis.failure import SparkFailure
from spark_analysis.master import Master, master_of


@pytest.mark.parametrize(("url", "spark_url"), [("local", "local[1,8]"), ("local[3]", "local[3,8]"), ("local[*]", "local[*,8]")])
def test_a_local_master_may_try_a_task_again(url: str, spark_url: str) -> None:
    """As a cluster does: one Python worker that dies is no failed job. It listens on loopback."""
    found = master_of(url)
    assert (found.is_local, found.spark_url, found.own_address()) == (True, spark_url, "127.0.0.1")


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("spark://10.0.0.1:7077", (("10.0.0.1", 7077),)),
        ("spark://a.example:7077,b.example:7078", (("a.example", 7077), ("b.example", 7078))),
        ("spark://[::1]:7077", (("::1", 7077),)),
    ],
)
def test_a_standalone_master_is_taken_apart(url: str, addresses: tuple[tuple[str, int], ...]) -> None:
    """Several of them are one cluster that survives the loss of a master; Spark gets the whole."""
    found = master_of(url)
    assert (found.is_local, found.spark_url, found.addresses) == (False, url, addresses)


@pytest.mark.parametrize(
    "url",
    [
        "", "yarn", "k8s://https://host:6443", "local[0]", "local[x]", "local[2", "spark://", "spark://host", "spark://host:0",
        "spark://host:70777", "spark://host:7077/", "spark://a:7077,", "spark://a:7077,b", "http://host:8080", "host:7077",
    ],
)  # fmt: skip
def test_what_is_no_master_is_refused(url: str) -> None:
    """With the forms that there are: nobody has tried anything else."""
    with pytest.raises(Refusal, match="not a Spark master") as refusal:
        master_of(url)
    assert "spark://host:port" in str(refusal.value)


def test_a_master_on_loopback_is_spoken_to_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the user has set for others. The second master is asked when the first does not answer."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "192.0.2.7")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and not listening
        addresses = (taken.getsockname(), server.getsockname())
        assert Master("spark://both", addresses).own_address() == "127.0.0.1"
        with pytest.raises(SparkFailure, match="no Spark master can be reached at spark://gone: Connection refused"):
            Master("spark://gone", addresses[:1]).own_address()


def test_a_master_elsewhere_is_spoken_to_from_where_it_sees_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of the interface that leads there; what the user says with SPARK_LOCAL_IP goes before that."""

    class Connection(socket.socket):
        def getsockname(self) -> tuple[str, int]:
            return "192.0.2.1", 40_000

    monkeypatch.setattr(socket, "create_connection", lambda address, timeout: Connection())
    far = master_of("spark://far.example:7077")
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert far.own_address() == "192.0.2.1"
    monkeypatch.setenv("SPARK_LOCAL_IP", "192.0.2.7")
    assert far.own_address() == "192.0.2.7"


def test_a_master_that_swallows_everything_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is an answer after a while."""
    asked: list[float] = []

    def nobody(address: tuple[str, int], timeout: float) -> socket.socket:
        asked.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", nobody)
    with pytest.raises(SparkFailure, match="timed out"):
        master_of("spark://a:1,b:2").own_address()
    assert asked == [master.REACH_S, master.REACH_S]
