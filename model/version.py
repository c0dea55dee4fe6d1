"""model/version.py: which Tidemark this is."""

from __future__ import annotations

import importlib.metadata
from functools import cache


@cache
def version() -> str:
    return importlib.metadata.version("tidemark")
