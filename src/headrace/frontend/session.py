"""What a PyTorch user tells Headrace (`use`, `hints`, `set_fallback`) and what it tells back (`record`)."""

from __future__ import annotations

import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from headrace.frontend.recording import GraphFacts, Launch, Recording
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location

FALLBACK_MODES = ("error", "warn", "allow")
BOOKKEEPING = frozenset(
    {"aten._assert_async", "aten._assert_scalar", "aten._assert_tensor_metadata", "aten._linalg_check_errors"}
)
"""What the host looks at between kernels: checks of values the device computed; no fallbacks."""

_HINT = 'headrace.set_fallback("warn") runs it on the host and says so'


class _Place(threading.local):
    graph: GraphFacts | None = None


_place = _Place()
_recordings: list[Recording] = []
_warned: set[str] = set()
_mode = "warn"
_hints: dict[str, Any] = {}


@contextmanager
def record() -> Iterator[Recording]:
    """Collects what runs inside the `with` block in the `Recording` it gives."""
    recording = Recording()
    breaks = _graph_breaks()
    _recordings.append(recording)
    try:
        yield recording
    finally:
        _recordings.remove(recording)
        recording.graph_breaks = _graph_breaks() - breaks


def _graph_breaks() -> Counter[str]:
    dynamo = sys.modules.get("torch._dynamo.utils")
    return Counter(dynamo.counters["graph_break"]) if dynamo else Counter()


@contextmanager
def inside_graph(facts: GraphFacts) -> Iterator[None]:
    """Generated code runs in this: launches and host operators are put down to the graph.

    What the graph leaves to the host is announced here, before anything runs.
    """
    if facts.host_ops:
        _announce(facts)
    before, _place.graph = _place.graph, facts
    for recording in _recordings:
        record = recording.graph(facts)
        record.calls += 1
        record.fallback_ops.update(facts.host_ops)
        record.fallback_reasons.update((name, facts.why(name)) for name in facts.host_ops)
    try:
        yield
    finally:
        _place.graph = before


def _announce(facts: GraphFacts) -> None:
    """Warns once in a process about each host operator of a graph; HeadraceError for all of them in mode
    "error".
    """
    if _mode == "error":
        raise HeadraceError(
            [
                Diagnostic(
                    f'has no native kernel and set_fallback is "error" ({facts.why(name)})',
                    Location(*file_and_line(facts.host_sources.get(name) or facts.name)),
                    name,
                    _hint(facts.host_reasons.get(name, "")),
                )
                for name in facts.host_ops
            ]
        )
    for name in facts.host_ops:
        if _mode == "warn" and name not in _warned:
            _warned.add(name)
            place = facts.host_sources.get(name) or facts.name
            text = f"headrace: {name} is not native and runs on the host ({place}); {facts.why(name)}"
            warnings.warn(text, stacklevel=5)


def _hint(reason: str) -> str:
    """What to do about an operator that is left to the host for this reason."""
    if reason.startswith("no native arithmetic"):
        return f"convert its operands to a native type (docs/pytorch.md lists them), or {_HINT}"
    if reason == "no native form":
        return f"say it in native operators (docs/pytorch.md lists them), or {_HINT}"
    return _HINT


def file_and_line(source: str) -> tuple[str, int]:
    """The parts of "file.py:12"; line 0 for another text."""
    file, _, line = source.rpartition(":")
    return (file, int(line)) if line.isdigit() else (source, 0)


def note_launch(launch: Launch) -> None:
    """Adds a launch to every active recording."""
    facts = _place.graph or GraphFacts("outside any graph")
    for recording in _recordings:
        recording.graph(facts).launches.append(launch)


def note_host_kernel(name: str, source: str, operators: Sequence[str], problem: HeadraceError) -> None:
    """Counts the operators of a kernel that cannot be compiled for the sizes of this call and runs on the
    host.

    HeadraceError in mode "error"; in mode "warn" it is warned about once in a process.
    """
    reason = "; ".join(dict.fromkeys(found.message for found in problem.diagnostics))
    what = f"{name} cannot be compiled for the sizes of this call: {reason}"
    if _mode == "error":
        message = f'{what}; and set_fallback is "error"'
        raise HeadraceError(
            Diagnostic(message, Location(*file_and_line(source)), ", ".join(operators), _HINT)
        )
    facts = _place.graph or GraphFacts("outside any graph")
    for recording in _recordings:
        record = recording.graph(facts)
        for operator in operators or (name,):
            record.fallback_ops[operator] += 1
            record.fallback_reasons[operator] = what
    if _mode == "warn" and name not in _warned:
        _warned.add(name)
        warnings.warn(f"headrace: {what}; it runs on the host ({source})", stacklevel=5)


def note_transfer() -> None:
    """Counts a copy between host and device."""
    for recording in _recordings:
        recording.transfers += 1


def note_host_op(name: str, operands: Any = ()) -> None:
    """Counts an operator about to run on the host; HeadraceError in mode "error", which names the types and
    shapes of `operands` and the user's line.

    What a compiled graph announced is counted when the graph is called; something else in a graph is
    warned about
    here in mode "warn", once in a process.
    """
    facts = _place.graph
    name = ".".join(name.split(".")[:2])
    if name in BOOKKEEPING:
        return
    if _mode == "error":
        raise HeadraceError(_refused(name, operands, facts))
    if facts and _is_announced(name, facts):
        return
    for recording in _recordings:
        (recording.graph(facts).fallback_ops if facts else recording.eager_ops)[name] += 1
        if facts:
            recording.graph(facts).fallback_reasons.setdefault(
                name, "called by the graph outside its kernels"
            )
    if facts and _mode == "warn" and name not in _warned:
        _warned.add(name)
        warnings.warn(f"headrace: {name} is not native and runs on the host (in {facts.name})", stacklevel=3)


def _refused(name: str, operands: Any, facts: GraphFacts | None) -> Diagnostic:
    """Why an operator called outside the kernels of a graph must not run."""
    what = "has no native kernel" if facts else "runs on the host outside compiled graphs"
    hint = _HINT if facts else f"torch.compile makes a kernel of what is native; {_HINT}"
    on = f"on {types_and_shapes(operands)}" + (f"; in {facts.name}" if facts else "")
    return Diagnostic(f'{what} and set_fallback is "error" ({on})', _user_line(), name, hint)


def types_and_shapes(values: Any) -> str:
    """ "float32[4, 8], int64[]" for the tensors of a tree of values."""
    import torch
    from torch.utils import _pytree as pytree

    found = [x for x in pytree.tree_leaves(values) if isinstance(x, torch.Tensor)]
    return ", ".join(f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}" for x in found)


def _user_line() -> Location | None:
    """The innermost line being run that is neither PyTorch's nor ours."""
    not_the_user = (*(str(Path(sys.modules[name].__path__[0])) for name in ("torch", "headrace")), "<")
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(not_the_user):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


def _is_announced(name: str, facts: GraphFacts) -> bool:
    """Whether the graph's host operators include this one under a like name (index_put, _index_put_impl_)."""
    own = name.split(".")[-1]
    return any(declared.split(".")[-1] in own or own in declared for declared in facts.host_ops)


def set_fallback(mode: str) -> str:
    """What happens when an operator has no native kernel; returns the mode before.

    "error" raises, "warn" (the default) runs it on the host and warns once per operator of a compiled
    graph, "allow" runs it on the host. All but "error" count it in the active recordings.
    """
    global _mode
    if mode not in FALLBACK_MODES:
        raise HeadraceError(f"unknown fallback mode '{mode}'", hint=f"modes are {', '.join(FALLBACK_MODES)}")
    before, _mode = _mode, mode
    return before


def use(device: Any = None, engine: str | None = None, **overrides: Any) -> Any:
    """Chooses the machine ("spyre", a file, a Device) and the engine ("machine", "reference") from now on.

    Works as a statement and as a context manager, which restores the selection before. HeadraceError for
    an unknown device or engine.
    """
    from headrace.runtime.selection import restore, select

    before = select(device, engine, overrides.pop("overrides", None))
    if overrides:
        restore(before)
        raise HeadraceError(f"use() got unknown options: {', '.join(sorted(overrides))}")
    return _Undo(lambda: restore(before))


@contextmanager
def hints(
    *, cores: int | None = None, without: Sequence[str] = (), effort: int | None = None
) -> Iterator[None]:
    """Constrains every kernel of the graphs compiled inside the `with` block.

    `cores` is the largest number of cores a kernel is divided over, `without` names optimisations of the
    scheduler and of the front-end ("division") to leave out, `effort` is how hard it searches. HeadraceError
    for a number below 1 and a name that no optimisation has.
    """
    from headrace.runtime.compiler import require_known

    require_known(tuple(without))
    for name, number in (("cores", cores), ("effort", effort)):
        if number is not None and number < 1:
            raise HeadraceError(f"hint {name}={number} is below 1")
    before = dict(_hints)
    wishes = {"cores": cores, "without": tuple(without) or None, "effort": effort}
    _hints.update({name: wish for name, wish in wishes.items() if wish is not None})
    try:
        yield
    finally:
        _hints.clear()
        _hints.update(before)


def current_hints() -> dict[str, Any]:
    """The hints in force, which a kernel's loop program keeps."""
    return dict(_hints)


class _Undo:
    """Restores what was before when used as a context manager and left."""

    def __init__(self, undo: Any) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._undo()
