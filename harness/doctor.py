"""harness/doctor.py: what this machine can run, and the command that adds the rest.

In     PATH and the administrator's directories beside it, CC, GOBIN, HOME, DOCKER_HOST; what programs say of their version
Out    `look`: a Finding per part. `require`: exit code 4 when one is missing. `as_table` for people, `as_data` for programs
Keeps  the machine as it is: a probe installs and changes nothing, leaves no process behind, never raises, never hangs
Not    installing (tools/setup.py); what a world does with a part (clusters/); choosing a Java (spark_analysis/java.py)

A part is there when it answers, not when a file has its name: a Docker client without an engine is no Docker.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired

from rich import box
from rich.table import Table
from rich.text import Text

from model.refusal import InfrastructureFailure, Refusal, near_miss
from spark_analysis import java

TIMEOUT_S = 10.0  # for one program; all of them answer within a second unless something is wrong
BESIDE_PATH = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where sshd, tc and losetup are, and a plain user's PATH is not
ENGINE_SOCKET = "unix:///var/run/docker.sock"
LOOP_CONTROL = "/dev/loop-control"
VERSION = r"(\d[\w.+~-]*)"  # what may be shown: no escape sequence gets through
TRY_NETEM = "ip link set lo up && tc qdisc add dev lo root netem delay 1ms && tc -V"  # only ever inside `unshare -n`


@dataclass(frozen=True)
class Part:
    """Something a machine may have: what it is for, the command that adds it, and how to ask whether it is there."""

    name: str
    serves: str
    add: str
    probe: Callable[[], str | None]  # a version or a short description; None when the part is missing


@dataclass(frozen=True)
class Finding:
    """One part, and what was found of it here."""

    part: Part
    found: str | None


def look(names: Iterable[str] | None = None) -> tuple[Finding, ...]:
    """Probes the named parts, or all of them, at the same time; findings come in the order asked for, each part once."""
    parts = PARTS if names is None else tuple(part(name) for name in dict.fromkeys(names))
    with ThreadPoolExecutor(max_workers=len(parts) or 1) as pool:
        return tuple(Finding(*pair) for pair in zip(parts, pool.map(lambda each: each.probe(), parts), strict=True))


def part(name: str) -> Part:
    """The part of this name; any other name is refused before anything is probed."""
    by_name = {each.name: each for each in PARTS}
    if name not in by_name:
        raise Refusal(f"no such part '{name}'", allowed=", ".join(by_name), meant=near_miss(name, by_name))
    return by_name[name]


def require(wanted: Iterable[str]) -> None:
    """Ends with all that is missing at once, so that nobody installs one part only to be told of the next."""
    missing = [finding.part for finding in look(wanted) if finding.found is None]
    if missing:
        commands = [f"  {each.name} is missing; add it with: {each.add}" for each in missing]
        raise InfrastructureFailure("\n".join(["this machine lacks " + ", ".join(p.name for p in missing), *commands]))


def as_table(findings: Iterable[Finding]) -> Table:
    """For people. `+` or `-` and a word tell the verdict without colour; a long command is folded, never cut off."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("part", no_wrap=True)
    for header in ("found", "serves", "add it with"):
        table.add_column(header, overflow="fold")  # and no min_width: rich would cut the last column off to honour it
    for finding in findings:
        here = finding.found is not None
        verdict = Text(f"+ {finding.found}", style="green") if here else Text("- MISSING", style="bold red")
        command = Text("" if here else finding.part.add)  # Text, because rich takes brackets in a string for markup
        table.add_row(finding.part.name, verdict, finding.part.serves, command)
    return table


def as_data(findings: Iterable[Finding]) -> list[dict[str, str | None]]:
    """For programs: the columns of the table; `found` is null when the part is missing, the command is always there."""
    return [{"part": each.part.name, "found": each.found, "serves": each.part.serves, "add": each.part.add} for each in findings]


def _version(pattern: str, *command: str, beside: tuple[str, ...] = (), may_fail: bool = False) -> str | None:
    """What `pattern` captures in the words of a program. One that hangs, fails or talks of something else is not there."""
    path = os.pathsep.join(place for place in (os.environ.get("PATH", ""), *beside, *BESIDE_PATH) if place)
    program = shutil.which(command[0], path=path)
    if program is None:
        return None
    code, words = _run([program, *command[1:]], path)
    found = re.search(pattern, words)
    return found.group(1) if found and (code == 0 or may_fail) else None


def _run(command: list[str], path: str) -> tuple[int, str]:
    """Exit code and words of a program, on whichever stream; on a timeout it ends together with all that it started."""
    surroundings = {**os.environ, "PATH": path}
    try:
        with Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=surroundings, start_new_session=True) as process:
            try:
                words, _ = process.communicate(timeout=TIMEOUT_S)
            except TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # a script's child would hold the pipe, and us with it
                return -signal.SIGKILL, ""
    except OSError:  # not a program after all: another architecture, a script without its interpreter
        return 127, ""
    return process.returncode, words.decode(errors="replace")


def _java() -> str | None:
    found = java.find_java()
    return f"{found.version} ({found.source})" if found else None


def _docker() -> str | None:
    """The engine's version. The worlds talk to the socket, so an engine without a client will do, and not the reverse."""
    return _version(rf"^{VERSION}", "docker", "version", "--format", "{{.Server.Version}}") or _docker_by_socket()


def _docker_by_socket() -> str | None:
    address = os.environ.get("DOCKER_HOST") or ENGINE_SOCKET
    if not address.startswith("unix://"):
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as engine:
            engine.settimeout(TIMEOUT_S)
            engine.connect(address.removeprefix("unix://"))
            engine.sendall(b"GET /version HTTP/1.0\r\nHost: engine\r\n\r\n")
            answer = engine.makefile("rb").read(100_000)
    except OSError:
        return None
    found = re.search(f'"Version": ?"{VERSION}', answer.decode(errors="replace"))
    return found.group(1) if found else None


def _toxiproxy() -> str | None:
    """One built without its version calls itself `git`; nobody can tell what it does, so it does not count."""
    go_bin = (os.environ.get("GOBIN", ""), str(Path(os.environ.get("HOME", "/"), "go", "bin")))
    return _version(rf"version v?{VERSION}", "toxiproxy-server", "-version", beside=go_bin)


def _compiler() -> str | None:
    chosen = os.environ.get("CC", "").split()  # may carry options, or a cache in front
    for command in filter(None, (chosen, ["cc"], ["gcc"], ["clang"])):
        if version := _version(r"(\d+\.\d+[\w.]*)", *command, "--version"):
            return f"{Path(command[0]).name} {version}"
    return None


def _browser() -> str | None:
    """A browser that no driver steers, or a driver without a browser, is of no use to a test."""
    if _version(rf"ChromeDriver {VERSION}", "chromedriver", "--version") is None:
        return None
    asked = (_version(r"(Chrom\w+ \d[\d.]*)", name, "--version") for name in ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, asked), None)


def _loop() -> str | None:
    """The control device must open for us, and the free device that losetup names must exist: in containers either may not."""
    try:
        os.close(os.open(LOOP_CONTROL, os.O_RDWR))
    except OSError:
        return None
    device = _version(r"^(/\S+)$", "losetup", "-f")
    return device if device and Path(device).exists() else None


PARTS: tuple[Part, ...] = (
    Part("python", "Tidemark itself", "apt-get install python3 python3-venv && make setup", platform.python_version),
    Part("java", "Spark, Apache Kafka", "make java", _java),
    Part(
        "docker",
        "nodes in containers",
        "apt-get install docker.io && systemctl start docker  "
        "# without systemd: setsid dockerd &; unless root, also: usermod -aG docker $USER",
        _docker,
    ),
    Part(
        "toxiproxy-server",
        "links between real nodes",
        "CGO_ENABLED=0 GOBIN=~/go/bin go install -trimpath "
        '-ldflags "-s -w -X github.com/Shopify/toxiproxy/v2.Version=2.12.0" '
        "github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0 && mv ~/go/bin/server ~/go/bin/toxiproxy-server  # Go 1.21 or newer",
        _toxiproxy,
    ),
    Part(
        "sshd",
        "tests of nodes on hosts",
        "apt-get install openssh-server",
        lambda: _version(r"OpenSSH_([\w.]+)", "sshd", "-V", may_fail=True),  # before 9.2, -V is an error that tells the version
    ),
    Part("cc", "clock and disk faults", "apt-get install gcc libc6-dev", _compiler),
    Part("maven", "getting Apache Kafka", "apt-get install maven", lambda: _version(rf"Apache Maven {VERSION}", "mvn", "-v")),
    Part(
        "go",
        "building Toxiproxy",
        "apt-get install golang-go  # Debian 12: too old, unless with -t bookworm-backports",
        lambda: _version(rf"\bgo{VERSION}", "go", "version"),
    ),
    Part("kcat", "tests with its client", "apt-get install kcat", lambda: _version(rf"Version {VERSION}", "kcat", "-V")),
    Part("browser", "tests of the reports", "apt-get install --no-install-recommends chromium chromium-driver", _browser),
    Part(
        "root",
        "loop, namespaces, netem",
        'sudo -E env "PATH=$PATH" tidemark ...  # the same command, as root',
        lambda: "uid 0" if os.geteuid() == 0 else None,
    ),
    Part(
        "loop",
        "disks that lose writes",
        "apt-get install mount && modprobe loop  # as root; in a container: docker run --privileged -v /dev:/dev ...",
        _loop,
    ),
    Part(
        "namespaces",
        "dropped packets",
        "apt-get install util-linux  # then as root; in a container: docker run --cap-add SYS_ADMIN ...",
        lambda: _version(r"^(net:\[\d+\])$", "unshare", "-n", "readlink", "/proc/self/ns/net") and "unshare -n",
    ),
    Part(
        "netem",
        "packets late or reordered",
        "apt-get install iproute2 && modprobe sch_netem  # as root; where modprobe fails: a kernel with CONFIG_NET_SCH_NETEM",
        lambda: _version(r"(iproute2-[\w.]+)", "unshare", "-n", "sh", "-c", TRY_NETEM),
    ),
)
