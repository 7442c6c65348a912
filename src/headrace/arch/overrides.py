"""Changes to single constants of an architecture: `KIND.ATTRIBUTE=VALUE`, applied to the text's own
attributes.

KIND is the kind or name of a memory, unit or link in any case (hbm = ddr = global, lx = l1 = ct_local),
"device", or a link written SOURCE->TARGET (also SOURCE:TARGET); ATTRIBUTE is a name of `attributes`, with
an entry for dictionaries: `sfu.op_cycles.function=8`, `pt.macs.f16=256`. `core.count=8` changes the number
of cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute as IRAttribute
from xdsl.ir import Operation

from headrace.arch.attributes import OF_RESOURCE, Attribute
from headrace.arch.device import canonical
from headrace.arch.plain import attributes, memory_space, plain, written
from headrace.ir.diagnostics import Diagnostic, HeadraceError


def apply(device: Operation, changes: Mapping[str, object]) -> None:
    """Change constants of a `ktdf_arch.device` op in place; HeadraceError lists every change that names
    nothing known.
    """
    findings: list[Diagnostic] = []
    for key, value in changes.items():
        try:
            _apply(device, key, _text(value))
        except HeadraceError as error:
            findings.extend(error.diagnostics)
    if findings:
        raise HeadraceError(findings)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _apply(device: Operation, key: str, value: str) -> None:
    kind, _, attribute = key.partition(".")
    if not kind or not attribute:
        raise HeadraceError(Diagnostic(f"{key!r} names no constant", hint="write KIND.ATTRIBUTE=VALUE"))
    targets = _targets(device, kind)
    if (kind.lower(), attribute) in (("core", "count"), ("device", "cores")):
        return _set_cores(device, key, value)
    if not targets:
        raise HeadraceError(
            Diagnostic(f"no memory, unit or link {kind!r}", hint=f"known: {', '.join(_kinds(device))}")
        )
    for op in targets:
        entry, keys = _entry(op, attribute, kind)
        _set(op, (*entry.path, *keys), value, entry, key)


def _targets(device: Operation, kind: str) -> list[Operation]:
    wanted = kind.lower().replace("->", ":")
    meant = ":".join(canonical(end) for end in wanted.split(":"))
    return [op for op in device.walk() if {wanted, meant} & _names(op)]


def _names(op: Operation) -> set[str]:
    """Names an op answers to, in lower case."""
    held = attributes(op)
    match op.name.removeprefix("ktdf_arch."):
        case "device":
            return {"device", plain(held["sym_name"]).lower()}
        case "memory" | "exec_unit":
            names = {str(plain(held[name])).lower() for name in ("kind", "id") if name in held}
            return names | {canonical(name) for name in names} | _space(held.get("kind"))
        case "datapath":
            kind = {str(plain(held["kind"])).lower()} if "kind" in held else set()
            ends = [_names(owner) for owner in _ends(op)]
            return kind | {f"{one}:{other}" for one in ends[0] for other in ends[1]}
    return set()


def _space(kind: IRAttribute | None) -> set[str]:
    space = memory_space(kind) if kind is not None else None
    return {space} if space else set()


def _ends(op: Operation) -> list[Operation]:
    """The two ends of a datapath (memories, units, switches), through captures and yields of groups."""
    return [owner for operand in op.operands if (owner := _owner(operand)) is not None]


def _owner(value: object) -> Operation | None:
    from xdsl.ir import BlockArgument, OpResult

    if isinstance(value, BlockArgument):
        group = value.block.parent_op()
        return _owner(group.operands[value.index]) if group is not None else None
    if isinstance(value, OpResult):
        if value.op.name != "ktdf_arch.group":
            return value.op
        last = value.op.regions[0].blocks[0].last_op
        return _owner(last.operands[value.index]) if last is not None else None
    return None


def _kinds(device: Operation) -> list[str]:
    names = {min(_names(op)) for op in device.walk() if _names(op)}
    return sorted(names | {"core"})


def _entry(op: Operation, attribute: str, kind: str) -> tuple[Attribute, tuple[str, ...]]:
    """Return the table entry for an attribute name, and the dictionary keys that follow it."""
    listed = OF_RESOURCE[op.name.removeprefix("ktdf_arch.")]
    name, _, rest = attribute.partition(".")
    name = {"size": "size_bytes"}.get(name, name)
    for entry in listed:
        if entry.name == name and bool(rest) == (entry.kind in ("map", "dict", "names")):
            return entry, (rest,) if rest else ()
    known = sorted(e.name + (".KEY" if e.kind in ("map", "dict", "names") else "") for e in listed)
    raise HeadraceError(
        Diagnostic(f"{kind!r} has no attribute {attribute!r}", hint=f"known: {', '.join(known)}")
    )


def _set(op: Operation, path: tuple[str, ...], value: str, entry: Attribute, key: str) -> None:
    held = op.properties if path[0] in op.properties else op.attributes
    try:
        held[path[0]] = _changed(held.get(path[0]), path[1:], value, entry)
    except ValueError:
        raise HeadraceError(
            Diagnostic(f"{value!r} is no value for {key}", hint=f"{entry.meaning} ({entry.kind})")
        ) from None


def _changed(old: IRAttribute | None, path: tuple[str, ...], value: str, entry: Attribute) -> IRAttribute:
    """Return an attribute with the entry at `path` changed, dictionaries on the way rebuilt."""
    if not path:
        kind = "float" if entry.kind == "float" else "name" if entry.name == "accumulate" else entry.kind
        return (
            ArrayAttr([IntegerAttr(int(v), i64) for v in value.split(",")])
            if kind == "ints"
            else written(value, old, kind)
        )
    if old is not None and old.name == "ktdf_arch.map":
        return _changed_map(old, path[0], value, entry)
    inside = dict(old.data) if isinstance(old, DictionaryAttr) else {}
    inside[path[0]] = _changed(inside.get(path[0]), path[1:], value, entry)
    return DictionaryAttr(inside)


def _changed_map(old: IRAttribute, key: str, value: str, entry: Attribute) -> IRAttribute:
    keys: list[IRAttribute] = list(old.keys)  # type: ignore[attr-defined]
    values: list[IRAttribute] = list(old.values)  # type: ignore[attr-defined]
    named = [str(plain(one)) for one in keys]
    if key not in named:
        raise HeadraceError(
            Diagnostic(f"{entry.name} has no entry {key!r}", hint=f"known: {', '.join(named)}")
        )
    at = named.index(key)
    values[at] = written(value, values[at], "text" if isinstance(values[at], StringAttr) else "int")
    return type(old)(ArrayAttr(keys), ArrayAttr(values))  # type: ignore[call-arg]


def _set_cores(device: Operation, key: str, value: str) -> None:
    replicated = [op for op in device.walk() if "headrace.count" in attributes(op) and _is_of_cores(op)]
    if not replicated:
        hint = "only a file that writes its cores once with headrace.count has a number of cores to change"
        raise HeadraceError(Diagnostic(f"{key} cannot be changed", hint=hint))
    if not value.isdecimal() or int(value) < 1:
        raise HeadraceError(Diagnostic(f"{value!r} is no number of cores"))
    for op in replicated:
        op.attributes["headrace.count"] = IntegerAttr(int(value), i64)


def _is_of_cores(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and parent.name == "ktdf_arch.device"


def parse_changes(texts: Iterable[str]) -> dict[str, str]:
    """Return {"KIND.ATTRIBUTE": "VALUE"} for texts of the form KIND.ATTRIBUTE=VALUE; HeadraceError
    otherwise.
    """
    changes = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or "." not in key or not value:
            raise HeadraceError(
                Diagnostic(f"{text!r} changes no constant", hint="write KIND.ATTRIBUTE=VALUE")
            )
        changes[key.strip()] = value.strip()
    return changes
