"""The command line: collects the commands, and turns every ending into an exit code.

0 fine; 1 the input or the request is wrong; 2 a check found faults; 70 a bug of ours.
"""

from __future__ import annotations

import os
import sys
import traceback

import typer

from headrace.cli import bench, check, compile_, devices, diff, doctor, explain, opt, run
from headrace.ir.diagnostics import HeadraceError

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Compile kernels for a dataflow accelerator, run them on a virtual one, see where the cycles go.",
)
app.command("run")(run.run)
app.command("compile")(compile_.compile_)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("opt")(opt.opt)
app.command("devices")(devices.devices)
app.command("diff")(diff.diff)
app.command("bench")(bench.bench)
app.command("doctor")(doctor.doctor)


def main(arguments: list[str] | None = None) -> None:
    """Runs one command and exits the process with its code."""
    sys.exit(exit_code(arguments))


def exit_code(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit code, with everything that went wrong on stderr."""
    try:
        result = app(arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except HeadraceError as error:
        print(error, file=sys.stderr)
        return 1
    except typer.Exit as ending:
        return ending.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0
    except Exception as error:
        usage = getattr(
            error, "format_message", None
        )  # typer's own copy of click raises what it does not export
        if usage is not None:
            print(f"error: {usage()}\n  hint: headrace COMMAND --help lists what it takes", file=sys.stderr)
            return 1
        if os.environ.get("HEADRACE_DEBUG"):
            traceback.print_exc()
        print(f"internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print(
            "  hint: this is a bug of Headrace; HEADRACE_DEBUG=1 prints the traceback for a report",
            file=sys.stderr,
        )
        return 70


if __name__ == "__main__":
    main()
