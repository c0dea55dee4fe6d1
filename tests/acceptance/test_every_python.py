"""Every Python 3.11 or newer on this machine does the same with the same seed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).parents[2]
NEEDED = ("google-crc32c", "msgspec", "numpy", "pyarrow", "PyYAML")  # what a simulated run imports
NAME = re.compile(r"python3(\.\d+)?")
VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"


def pythons() -> dict[str, str]:
    """One interpreter per version: those on PATH, and those of version managers."""
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep)]
    places += sorted(Path.home().glob(".pyenv/versions/*/bin")) + sorted(Path.home().glob(".local/share/uv/python/*/bin"))
    found: dict[str, str] = {}
    for place in [Path(sys.executable).parent, *places]:
        for path in sorted(each for each in place.glob("python3*") if NAME.fullmatch(each.name) and each.exists()):
            said = subprocess.run([str(path), "-c", VERSION], capture_output=True, text=True, check=False)
            version = said.stdout.strip()
            if said.returncode == 0 and tuple(map(int, version.split(".")))[:2] >= (3, 11):
                found.setdefault(version, str(path))
    return found


def test_ten_seeds_have_their_golden_digests_under_every_python(tmp_path: Path) -> None:
    """Each version gets an environment of its own, with the pinned versions of what a simulated run needs."""
    golden = json.loads((ROOT / "tests" / "golden" / "digests.json").read_text())
    tried = pythons()
    assert tried
    for version, python in tried.items():
        home = tmp_path / version
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        own = str(home / "bin" / "python")
        subprocess.run([own, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), *NEEDED], check=True)
        for hash_seed in ("0", "1"):
            environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
            command = [own, "-m", "tests.golden.digests"]
            said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            assert json.loads(said.stdout) == golden, f"Python {version} with hash seed {hash_seed} did something else"
    print(f"\nthe digests of ten seeds are the same under Python {', '.join(sorted(tried))}, with hash seeds 0 and 1")
