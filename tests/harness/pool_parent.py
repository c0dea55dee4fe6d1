"""tests/harness/pool_parent.py WORK NOTES JOBS: a process with a pool, for tests that kill or interrupt it."""

from __future__ import annotations

import json
import sys

from harness.pool import Crew, Result, run_pool


def main(work: str, notes: str, jobs: str) -> None:
    def on_result(number: int, result: Result) -> None:
        print(number, result.status, flush=True)

    setup = json.dumps({"notes": notes}).encode()
    crew = Crew(name="killed", work=f"tests.harness.pool_work:{work}", setup=setup, jobs=int(jobs), limit_s=1000)
    try:
        run_pool(crew, range(100), on_result)
    except KeyboardInterrupt:
        print("interrupted", flush=True)


main(*sys.argv[1:])
