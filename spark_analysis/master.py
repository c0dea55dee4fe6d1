"""spark_analysis/master.py: which Spark is meant, and whether anybody answers there.

In     `local[*]`, `local[4]`, `spark://host:port`, several masters of one cluster as `spark://a:7077,b:7077`
Out    a `Master`; the address of ours that it sees, found out by connecting to it once
Why    Spark itself asks an unreachable master for a minute and then fails with a stack trace about something else
"""

from __future__ import annotations

import os
import re
import socket

import msgspec

from model.refusal import Refusal
from spark_analysis.failure import SparkFailure

REACH_S = 5.0
LOOPBACK = "127.0.0.1"
TASK_TRIES = 8  # a task also fails when its executor is killed; that must not become a failed job

_LOCAL = re.compile(r"local(?:\[(?:\*|[1-9][0-9]*)\])?")
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s/:,\[\]]+):([0-9]{1,5})")


class Master(msgspec.Struct, frozen=True):
    """Where the jobs of a session run."""

    url: str
    addresses: tuple[tuple[str, int], ...] = ()  # of a standalone cluster; none where the driver does the work itself

    @property
    def is_local(self) -> bool:
        return not self.addresses

    @property
    def spark_url(self) -> str:
        """What Spark is told. Without a number of tries, a local one gives up on a job with the first Python worker that dies."""
        return f"{self.url.removesuffix(']')},{TASK_TRIES}]" if self.is_local else self.url

    def own_address(self) -> str:
        """Where the driver has to listen: loopback, unless the master is elsewhere."""
        if self.is_local:
            return LOOPBACK
        seen = self._reach()
        return seen if seen in (LOOPBACK, "::1") else os.environ.get("SPARK_LOCAL_IP", seen)

    def _reach(self) -> str:
        why = ""
        for address in self.addresses:
            try:
                with socket.create_connection(address, REACH_S) as connection:
                    return str(connection.getsockname()[0])
            except OSError as error:
                why = error.strerror or str(error)
        raise SparkFailure(f"no Spark master can be reached at {self.url}: {why}")


def master_of(url: str) -> Master:
    """Any other kind of master is refused: nobody has tried it."""
    if _LOCAL.fullmatch(url):
        return Master("local[1]" if url == "local" else url)
    scheme, _, rest = url.partition("://")
    found = [_ADDRESS.fullmatch(one) for one in rest.split(",")]
    addresses = tuple((one.group(1).strip("[]"), int(one.group(2))) for one in found if one is not None)
    if scheme != "spark" or len(addresses) < len(found) or not all(0 < port < 65_536 for _, port in addresses):
        raise Refusal(f"not a Spark master: {url!r}", where="--master", allowed="local[*], local[4], spark://host:port")
    return Master(url, addresses)
