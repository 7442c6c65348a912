"""Files in and out: UTF-8 text, written atomically, with one clear error for each way it can fail."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from headrace.ir.diagnostics import HeadraceError


def read_text(path: Path) -> str:
    """The text of a file; HeadraceError when it is missing, a folder, not readable or not text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise HeadraceError(f"no such file: {path}", hint=_similar(path)) from None
    except IsADirectoryError:
        raise HeadraceError(f"{path} is a folder", hint="give a file") from None
    except UnicodeDecodeError:
        raise HeadraceError(f"{path} is not a text file", hint="it has to be UTF-8 text") from None
    except OSError as error:
        raise HeadraceError(f"cannot read {path}: {_reason(error)}") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file, atomically, with the folders it needs; HeadraceError when that is not possible."""
    fresh: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(fresh, 0o644)
        os.replace(fresh, path)
        fresh = None
    except OSError as error:
        raise HeadraceError(f"cannot write {path}: {_reason(error)}") from None
    finally:
        if fresh is not None:
            Path(fresh).unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file as `write_bytes` does."""
    write_bytes(path, text.encode())


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _similar(path: Path) -> str:
    from difflib import get_close_matches

    folder = path.parent
    names = [p.name for p in folder.glob("*") if p.is_file()] if folder.is_dir() else []
    close = get_close_matches(path.name, names, 1)
    return f"did you mean {folder / close[0]}?" if close else "check the path"
