"""tests/spark_analysis/deadly.py: work that some runs do not let their worker survive."""

from __future__ import annotations

import os
import signal

from spark_analysis.unit import Piece, Unit, judge_unit

DEADLY = 4


def judge_unit_or_die(unit: Unit) -> Piece:
    """Run 4 of a campaign takes the process along."""
    if DEADLY in unit.numbers and unit.campaign == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return judge_unit(unit)


def judge_unit_or_raise(unit: Unit) -> Piece:
    """The same with an exception that escapes the work itself."""
    if DEADLY in unit.numbers and unit.campaign == "deadly":
        raise OSError("no file descriptors left")
    return judge_unit(unit)
