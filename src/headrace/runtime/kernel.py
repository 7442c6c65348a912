"""A kernel as a person has it: a text at one of the levels, parsed and verified once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.ir.arguments import Argument, arguments
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.files import read_text
from headrace.ir.recognise import language
from headrace.ir.text import parse
from headrace.ir.verify import verify
from headrace.runtime.declared import function_name
from headrace.runtime.split import is_split, join, read_parts

if TYPE_CHECKING:
    from headrace.arch.device import Device
    from headrace.runtime.program import Program, Run


@dataclass(frozen=True)
class Kernel:
    """A module of KTIR, KTDF or DFIR: its text, the file it came from, and which function is meant (None:
    the one). `is_masked`: it may name what lies outside of a view (option bounds=mask). `parts`: file and
    text of every part of a split schedule.
    """

    text: str
    file: str = "<text>"
    function: str | None = None
    is_masked: bool = False
    parts: tuple[tuple[str, str], ...] = ()

    @cached_property
    def module(self) -> Any:
        """The parsed and verified module; HeadraceError with every error of the text."""
        module = join(self.parts) if self.parts else parse(self.text, self.file)
        found = verify(module, self.is_masked)
        errors = [each for each in found if each.severity == "error"]
        if errors:
            raise HeadraceError(errors)
        self.warnings.extend(each for each in found if each.severity != "error")
        return module

    @cached_property
    def warnings(self) -> list[Diagnostic]:
        """What the verifier found doubtful; complete once the module was read."""
        return []

    @cached_property
    def level(self) -> str:
        """ "ktir", "ktdf" or "dfir", by content; HeadraceError for anything else."""
        level = language(self.module)
        if level not in ("ktir", "ktdf", "dfir"):
            raise HeadraceError(
                f"{self.file}: nothing to run in a module of {level}",
                hint="give a kernel of KTIR, KTDF or DFIR; an architecture file goes to --device",
            )
        return level

    @cached_property
    def name(self) -> str:
        """The name of the function meant, or of the module's first."""
        return self.function or function_name(self.module)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """What the function takes: memory, scratch and scalars, in order."""
        return self.arguments_for({})

    def arguments_for(self, scalars: Mapping[str, float | int]) -> tuple[Argument, ...]:
        """The arguments with the extents that follow from scalar values."""
        return tuple(arguments(self.module, self.function, scalars))

    def compile(
        self,
        device: str | Device = "spyre",
        without: Iterable[str] = (),
        plan: Any = None,
        effort: int = 1,
        scalars: Mapping[str, float] | None = None,
    ) -> Program:
        """The program for one device; HeadraceError when the kernel cannot be scheduled there."""
        from headrace.runtime.compiler import Options, compile_kernel

        return compile_kernel(self, device, Options(tuple(without), effort, plan, dict(scalars or {})))


def load(path_or_text: str | Path, function: str | None = None, is_masked: bool = False) -> Kernel:
    """The kernel in a file, or in a text that has more than one line; HeadraceError when there is no such
    file.
    """
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return Kernel(path_or_text, function=function, is_masked=is_masked)
    path = Path(path_or_text)
    if is_split(path):
        parts = read_parts(path)
        return Kernel("\n".join(text for _, text in parts), str(path), function, parts=parts)
    return Kernel(read_text(path), str(path), function, is_masked)


def interpret(kernel: Kernel, **inputs: Any) -> Run:
    """Runs the kernel on the reference interpreter: the same binding rules as `Program.run`, no cycles."""
    from headrace.runtime.reference import run_reference

    return run_reference(kernel, inputs)
