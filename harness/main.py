"""harness/main.py: the door. Whatever happens behind it ends with one sentence and the right exit code (DESIGN 11.9).

In    what was typed
Out   0 valid, 1 a promise was broken, 2 unknown, 3 bad plan, input or usage, 4 the infrastructure failed or we did, 130 Ctrl-C
Keeps a traceback never reaches a user who made a mistake; `--debug` shows it to whoever looks for ours
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

NEEDED = ("msgspec", "numpy", "pyarrow", "rich", "typer", "yaml")
INTERRUPTED, OURS = 130, 4


def main() -> NoReturn:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """One command, from its words to its exit code."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return _end(
            f"this installation can only run nodes: {', '.join(missing)} not installed\n  add: pip install 'tidemark[harness]'",
            OURS,
        )
    debug = "--debug" in arguments
    try:
        return _dispatch([word for word in arguments if word != "--debug"])
    except KeyboardInterrupt:
        return _end("stopped by Ctrl-C", INTERRUPTED)
    except BrokenPipeError:  # of a command that only shows something: one that found something has said it by its code
        _forget_standard_output()
        return 0
    except Exception as error:  # noqa: BLE001  the door: whatever it is, it ends with a sentence and a code
        if debug:
            traceback.print_exception(error)
        return _explain(error)


def _dispatch(arguments: list[str]) -> int:
    import typer
    from typer.main import get_command

    from harness.cli import app
    from model.refusal import ExitCode

    if not arguments:
        _dispatch(["--help"])
        return ExitCode.REFUSED  # a command is missing, and a script that forgot it must notice
    command = get_command(app)
    try:
        # Not `command.main`: it ends with 1 when the reader of our output leaves, and 1 means that a promise was broken.
        with command.make_context("tidemark", arguments) as context:
            returned = command.invoke(context)
        _flush()
        return int(returned or 0)
    except typer.Exit as ending:
        return ending.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except typer.TyperException as error:  # usage: a word that is no command, option or value
        about = _command_of(error)
        return _end(f"{error.format_message()}\n  see: {about} --help", ExitCode.REFUSED)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_standard_output()


def _forget_standard_output() -> None:
    from harness.terminal import forget_standard_output

    forget_standard_output()


def _command_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context else "tidemark"


def _explain(error: Exception) -> int:
    from model.refusal import ExitCode, Refusal, TidemarkError

    if isinstance(error, Refusal):
        return _end(f"{error}\n{error.afterword}".rstrip("\n"), error.exit_code)
    if isinstance(error, TidemarkError):
        return _end(str(error), error.exit_code)
    if isinstance(error, OSError) and error.filename is not None:
        return _end(f"{error.filename}: {error.strerror}", ExitCode.INFRASTRUCTURE)
    where = _innermost(error)
    what = f"a mistake of Tidemark's own: {type(error).__name__}: {error}"
    next_step = f"at {where}; please report it with the output of the same command and --debug"
    return _end(f"{what}\n  {next_step}", ExitCode.INFRASTRUCTURE)


def _innermost(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "an unknown place"


def _end(words: str, code: int) -> int:
    print(words, file=sys.stderr)
    return code
