"""tests/harness/test_doctor.py: the doctor believes answers, not file names, and always knows the next command.

Most tests run on a bare machine: PATH leads to one directory, empty but for the fakes that a test puts there.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import shutil
import socket
import threading
from pathlib import Path

import pytest
from rich.console import Console

from harness import doctor
from model.refusal import ExitCode, InfrastructureFailure, Refusal
from spark_analysis import java

NAMES = ["python", "java", "docker", "toxiproxy-server", "sshd", "cc", "maven", "go", "kcat", "browser"]
NAMES += ["root", "loop", "namespaces", "netem"]
HANG = f"{shutil.which('tail')} -f /dev/null >/dev/null"  # a child that holds standard error for ever

# part: the programs it is found by, what each says, what the doctor makes of it
FAKES = {
    "java": ({"java": 'openjdk version "17.0.9" 2023-10-17'}, "17.0.9 (PATH)"),
    "docker": ({"docker": "20.10.24+dfsg1"}, "20.10.24+dfsg1"),
    "toxiproxy-server": ({"toxiproxy-server": "toxiproxy-server version 2.12.0"}, "2.12.0"),
    "sshd": ({"sshd": "OpenSSH_9.2p1, OpenSSL 3.0.19 27 Jan 2026"}, "9.2p1"),
    "cc": ({"clang": "Debian clang version 14.0.6"}, "clang 14.0.6"),
    "maven": ({"mvn": "\033[1mApache Maven 3.8.7\033[m\nMaven home: /usr/share/maven"}, "3.8.7"),
    "go": ({"go": "go version go1.26.8 linux/amd64"}, "1.26.8"),
    "kcat": ({"kcat": "kcat - Apache Kafka producer and consumer tool\nVersion 1.7.1 (JSON, librdkafka 2.0.2)"}, "1.7.1"),
    "browser": (
        {"chromium": "Chromium 139.0.7258.5 on Debian", "chromedriver": "ChromeDriver 139.0.7258.5"},
        "Chromium 139.0.7258.5",
    ),
    "loop": ({"losetup": "/dev/null"}, "/dev/null"),  # any device that exists
    "namespaces": ({"unshare": "net:[4026532008]"}, "unshare -n"),
    "netem": ({"unshare": "tc utility, iproute2-6.1.0, libbpf 1.1.2"}, "iproute2-6.1.0"),
}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing but a Python and a loop control device; programs put into the directory returned are on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for variable in ("CC", "GOBIN", "JAVA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setattr(java, "wheel_runtime", lambda: None)
    (tmp_path / "loop-control").touch()
    monkeypatch.setattr(doctor, "LOOP_CONTROL", str(tmp_path / "loop-control"))
    monkeypatch.setattr(doctor, "BESIDE_PATH", ())
    return programs


def put(directory: Path, name: str, says: str, then: str = "exit 0") -> None:
    """A program that says its words on standard error, where half of the real ones do, and then does `then`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\nwhile read -r line; do echo \"$line\" >&2; done <<'END'\n{says}\nEND\n{then}\n")
    (directory / name).chmod(0o755)


def put_fakes(directory: Path, part: str, then: str = "exit 0", says: str | None = None) -> None:
    for name, words in FAKES[part][0].items():
        put(directory, name, words if says is None else says, then)


def found(part: str) -> str | None:
    return doctor.look([part])[0].found


def rendered(findings: tuple[doctor.Finding, ...], width: int) -> list[str]:
    """The lines of the table where output is no terminal."""
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(doctor.as_table(findings))
    return out.getvalue().splitlines()


def commands_in(lines: list[str]) -> str:
    """The last column from top to bottom, without white space, so that folding does not matter."""
    start = lines[0].index("add it with")
    return squeezed("".join(line[start:] for line in lines[2:]))


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_the_parts_are_these_in_this_order():
    """Names are an interface (`--require`, test markers), and a full look reports every one of them once."""
    assert [part.name for part in doctor.PARTS] == NAMES
    assert [finding.part.name for finding in doctor.look()] == NAMES
    assert [finding.part.name for finding in doctor.look(["root", "python", "root"])] == ["root", "python"]


@pytest.mark.parametrize("width", [80, 200])
def test_on_a_bare_machine_every_missing_part_shows_its_whole_command(bare, monkeypatch, width):
    """Where PATH leads nowhere all that PATH finds is missing, and the table holds each command to its last character."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    findings = doctor.look()
    assert [each.part.name for each in findings if each.found is None] == [name for name in NAMES if name != "python"]
    lines = rendered(findings, width)
    assert max(map(len, lines)) <= width
    assert commands_in(lines) == squeezed("".join(doctor.part(name).add for name in NAMES if name != "python"))


def test_the_verdict_can_be_read_without_colour():
    """A mark and a word differ between found and missing in plain text, and only what is missing has a command beside it."""
    here, gone = doctor.part("go"), doctor.part("kcat")
    lines = rendered((doctor.Finding(here, "1.26.8 [red]"), doctor.Finding(gone, None)), 80)
    rows = {line.split()[0]: line for line in lines if line.startswith(("go", "kcat"))}
    assert "+ 1.26.8 [red]" in rows["go"]  # not taken for markup
    assert "- MISSING" in rows["kcat"]
    assert commands_in(lines) == squeezed(gone.add)


@pytest.mark.parametrize("part", FAKES)
def test_a_program_that_tells_its_version_is_found(bare, part):
    """Near miss of all the failures below: the same fakes, well behaved, are found, on whichever stream they speak."""
    assert found(part) is None
    put_fakes(bare, part)
    assert found(part) == FAKES[part][1]


@pytest.mark.parametrize("part", FAKES)
def test_a_program_that_hangs_is_missing(bare, monkeypatch, part):
    """The right words count for nothing while the program does not end, and nobody waits for it or for its children."""
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.2)
    put_fakes(bare, part, then=HANG)
    assert found(part) is None


@pytest.mark.parametrize("part", [part for part in FAKES if part != "sshd"])
def test_a_program_that_fails_is_missing(bare, part):
    """The right words count for nothing when the exit code is not 0: a Docker client without its engine ends like this."""
    put_fakes(bare, part, then="exit 1")
    assert found(part) is None


@pytest.mark.parametrize("part", FAKES)
@pytest.mark.parametrize("garbage", ["", "no such thing", r"\377\376 [/red] {}"])
def test_a_program_that_prints_garbage_is_missing(bare, part, garbage):
    """Exit code 0 without a version is no answer."""
    put_fakes(bare, part, says=garbage, then=f"printf '{garbage}'")  # printf turns \377 into a byte that is not UTF-8
    assert found(part) is None


def test_a_file_that_cannot_be_started_is_missing(bare):
    """An executable that the kernel refuses (another architecture, no interpreter) is reported, not raised."""
    (bare / "kcat").write_text("#!/no/such/interpreter\n")
    (bare / "kcat").chmod(0o755)
    assert found("kcat") is None


def test_nothing_is_left_running_after_a_timeout(bare, monkeypatch, tmp_path):
    """The children of a program that hangs end with it: the pipe they hold open for writing reaches its end."""
    os.mkfifo(tmp_path / "held")
    ear = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.5)
    put(bare, "kcat", "Version 1.7.1", then=f"exec 9>{tmp_path}/held\necho started >&9\n{HANG}")
    assert found("kcat") is None
    assert os.read(ear, 100) == b"started\n"
    assert select.select([ear], [], [], 30)[0], "a child of the program still runs"
    assert os.read(ear, 100) == b""
    os.close(ear)


def test_an_old_sshd_tells_its_version_while_it_complains(bare):
    """Before 9.2 there was no -V: the version stands in the error message, and that is good enough."""
    put(bare, "sshd", "unknown option -- V\nOpenSSH_8.4p1 Debian-5, OpenSSL 1.1.1w", then="exit 1")
    assert found("sshd") == "8.4p1"


def test_an_engine_is_found_by_its_socket_when_there_is_no_client(bare, tmp_path):
    """Docker is the engine: one that answers on its socket is enough, one that says something else is not."""
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(f"{tmp_path}/docker.sock")
        engine.listen()
        body = b'{"Components":[{"Name":"Engine","Version":"20.10.24","Details":{}}],"Version":"20.10.24"}'
        for answer, expected in ((b"HTTP/1.0 200 OK\r\n\r\n" + body, "20.10.24"), (b"HTTP/1.0 500 no\r\n\r\n\xff{}", None)):
            server = threading.Thread(target=answer_once, args=(engine, answer), daemon=True)
            server.start()
            assert found("docker") == expected
            server.join()


def answer_once(engine: socket.socket, answer: bytes) -> None:
    asker, _ = engine.accept()
    with asker:
        assert asker.recv(1000).startswith(b"GET /version ")
        asker.sendall(answer)


def test_an_engine_that_never_answers_is_missing(bare, monkeypatch, tmp_path):
    """A socket that accepts and then stays silent costs one timeout."""
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.2)
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(f"{tmp_path}/docker.sock")
        engine.listen()
        assert found("docker") is None


@pytest.mark.parametrize("place", ["go/bin", "elsewhere"])
def test_toxiproxy_is_found_where_go_installs_it(bare, monkeypatch, tmp_path, place):
    """GOBIN and ~/go/bin count although they are not on PATH; for other programs they do not."""
    if place == "elsewhere":
        monkeypatch.setenv("GOBIN", str(tmp_path / place))
    put_fakes(tmp_path / place, "toxiproxy-server")
    put_fakes(tmp_path / place, "kcat")
    assert (found("toxiproxy-server"), found("kcat")) == ("2.12.0", None)


def test_a_toxiproxy_without_its_version_is_missing(bare):
    """Built without -X it calls itself `git`; the command beside it builds one that does not."""
    put(bare, "toxiproxy-server", "toxiproxy-server version git")
    assert found("toxiproxy-server") is None
    assert "-X github.com/Shopify/toxiproxy/v2.Version=" in doctor.part("toxiproxy-server").add


def test_the_compiler_of_CC_comes_first_and_may_carry_options(bare, monkeypatch):
    """CC is the user's choice; where it does not answer, the usual names are tried."""
    put(bare, "gcc", "gcc (Debian 12.2.0-14) 12.2.0")
    put(bare, "mine", "mine 3.1")
    monkeypatch.setenv("CC", "mine -m64")
    assert found("cc") == "mine 3.1"
    monkeypatch.setenv("CC", "gone")
    assert found("cc") == "gcc 12.2.0"


@pytest.mark.parametrize("alone", ["chromium", "chromedriver"])
def test_a_browser_needs_its_driver_and_a_driver_its_browser(bare, alone):
    """Half of the pair is as good as nothing."""
    put(bare, alone, FAKES["browser"][0][alone])
    assert found("browser") is None


def test_a_Java_that_Spark_cannot_use_is_missing(bare):
    """Java 11 is a Java, but Spark 4 wants 17 or 21; odd output is not an error of ours either."""
    put(bare, "java", 'openjdk version "11.0.2" 2019-01-15')
    assert found("java") is None
    put(bare, "java", "no version at all")
    assert found("java") is None


def test_a_loop_device_must_be_there_and_open_for_us(bare, monkeypatch, tmp_path):
    """In a container losetup names devices that have no file, and the control device may be absent altogether."""
    put(bare, "losetup", f"{tmp_path}/loop0")
    assert found("loop") is None
    (tmp_path / "loop0").touch()
    assert found("loop") == f"{tmp_path}/loop0"
    monkeypatch.setattr(doctor, "LOOP_CONTROL", f"{tmp_path}/no-control")
    assert found("loop") is None


def test_root_is_the_effective_user(monkeypatch):
    """Who we act as decides, nothing else."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert found("root") == "uid 0"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert found("root") is None


def test_netem_is_never_tried_on_the_network_of_the_host(bare, tmp_path):
    """Where no namespace can be had, neither ip nor tc is started."""
    for name in ("ip", "tc"):
        put(bare, name, "tc utility, iproute2-6.1.0", then=f"echo >{tmp_path}/touched")
    put(bare, "unshare", "unshare: unshare failed: Operation not permitted", then="exit 1")
    assert found("netem") is None
    assert not (tmp_path / "touched").exists()


def test_all_parts_are_probed_at_the_same_time(monkeypatch):
    """Every probe waits for all the others: one after another, none would get past the barrier."""
    together = threading.Barrier(len(NAMES), timeout=30)
    parts = tuple(doctor.Part(name, "", "", lambda: str(together.wait() >= 0)) for name in NAMES)
    monkeypatch.setattr(doctor, "PARTS", parts)
    assert [finding.found for finding in doctor.look()] == ["True"] * len(NAMES)


def test_require_names_all_that_is_missing_with_the_commands(bare):
    """One failure tells of every missing part and of none that is there; exit code 4, for the machine is at fault."""
    put_fakes(bare, "go")
    with pytest.raises(InfrastructureFailure) as failure:
        doctor.require(["python", "docker", "go", "kcat"])
    assert failure.value.exit_code == ExitCode.INFRASTRUCTURE
    for name in ("docker", "kcat"):
        assert f"{name} is missing; add it with: {doctor.part(name).add}" in str(failure.value)
    assert not re.search(r"\b(python|go) is missing", str(failure.value))


def test_require_is_content_when_nothing_is_missing(bare):
    """No parts, or parts that are there: nothing is raised, and a part asked for twice is no mistake."""
    put_fakes(bare, "go")
    assert doctor.require([]) is None
    assert doctor.require(["python", "go", "go"]) is None


@pytest.mark.parametrize(("wrong", "meant"), [("dokcer", "docker"), ("Java", "java"), ("toxiproxy_server", "toxiproxy-server")])
def test_an_unknown_part_is_refused_with_the_near_miss(bare, wrong, meant):
    """A typing mistake is the user's (exit code 3), even beside a part that is really missing (which would be 4)."""
    for ask in (doctor.part, lambda name: doctor.look([name]), lambda name: doctor.require(["kcat", name])):
        with pytest.raises(Refusal) as refusal:
            ask(wrong)
        assert (refusal.value.exit_code, refusal.value.meant) == (ExitCode.REFUSED, meant)
        assert wrong in refusal.value.problem
        assert refusal.value.allowed.split(", ") == NAMES


@pytest.mark.parametrize("part", doctor.PARTS, ids=lambda part: part.name)
def test_no_command_names_a_host(part):
    """Where packages come from is the machine's own setting. A Debian package and a Go module merely look like hosts."""
    text = part.add.replace("apt-get install docker.io ", "").replace("github.com/Shopify/toxiproxy/v2", "")
    assert text.strip()
    assert "http" not in text
    assert not re.search(r"://|[a-z0-9-]\.(com|org|net|io|dev|sh)\b|\d+\.\d+\.\d+\.\d+", text)


def test_the_data_is_whole_and_fits_into_JSON(bare):
    """Every part with every column; null is the one sign of a missing part."""
    put_fakes(bare, "go")
    data = json.loads(json.dumps(doctor.as_data(doctor.look())))
    assert [row["part"] for row in data] == NAMES
    by_name = {row.pop("part"): row for row in data}
    assert by_name["go"] == {"found": "1.26.8", "serves": doctor.part("go").serves, "add": doctor.part("go").add}
    assert by_name["kcat"] == {"found": None, "serves": doctor.part("kcat").serves, "add": doctor.part("kcat").add}
    assert all(row["serves"] and row["add"] for row in by_name.values())
