"""nemesis/catalogue.py: every fault by its name in the vocabulary.

In   the files of nemesis/faults/
Out  `FAULTS_BY_NAME`, in the vocabulary's order; a test proves that no name lacks its fault and no fault its name
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nemesis.fault import Fault
from nemesis.faults.change_config import CHANGE_CONFIG
from nemesis.faults.cut import CUT
from nemesis.faults.delay import DELAY
from nemesis.faults.drift import DRIFT
from nemesis.faults.elect import ELECT
from nemesis.faults.fill import FILL
from nemesis.faults.gate import GATE
from nemesis.faults.hold import HOLD
from nemesis.faults.io_error import IO_ERROR
from nemesis.faults.jump import JUMP
from nemesis.faults.kill import KILL
from nemesis.faults.lose_unsynced import LOSE_UNSYNCED
from nemesis.faults.lossy_kill import LOSSY_KILL
from nemesis.faults.pause import PAUSE
from nemesis.faults.read_only import READ_ONLY
from nemesis.faults.reassign import REASSIGN
from nemesis.faults.refuse import REFUSE
from nemesis.faults.reset import RESET
from nemesis.faults.restart_loop import RESTART_LOOP
from nemesis.faults.rolling_restart import ROLLING_RESTART
from nemesis.faults.rot import ROT
from nemesis.faults.silent import SILENT
from nemesis.faults.skew import SKEW
from nemesis.faults.slice import SLICE
from nemesis.faults.slow import SLOW
from nemesis.faults.slow_sync import SLOW_SYNC
from nemesis.faults.stop import STOP
from nemesis.faults.strobe import STROBE
from nemesis.faults.tear import TEAR
from nemesis.faults.throttle import THROTTLE
from nemesis.faults.wipe import WIPE

FAULTS_BY_NAME: Mapping[str, Fault[Any]] = {
    fault.name: fault
    for fault in (
        CUT,
        HOLD,
        REFUSE,
        SILENT,
        DELAY,
        THROTTLE,
        SLICE,
        RESET,
        GATE,
        KILL,
        LOSSY_KILL,
        STOP,
        PAUSE,
        SLOW,
        RESTART_LOOP,
        ROLLING_RESTART,
        SKEW,
        JUMP,
        STROBE,
        DRIFT,
        WIPE,
        LOSE_UNSYNCED,
        TEAR,
        ROT,
        FILL,
        SLOW_SYNC,
        READ_ONLY,
        IO_ERROR,
        ELECT,
        REASSIGN,
        CHANGE_CONFIG,
    )
}
