"""tests/spark_analysis/spark_driver.py: a driver in a process of its own, which can be killed while its executors work.

python -m tests.spark_analysis.spark_driver MASTER NAME TEMPORARY
"""

from __future__ import annotations

import sys
import tempfile
import time

from spark_analysis.session import spark_session


def forever(number: int) -> None:
    """What a task does that somebody has to end."""
    print("at work", number, flush=True)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    tempfile.tempdir = sys.argv[3]
    with spark_session(sys.argv[1], sys.argv[2]) as session:
        print("ready", flush=True)
        session.sparkContext.parallelize([0, 1], 2).foreach(forever)
