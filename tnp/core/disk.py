"""What was compiled, on disk, so that a program's second run does not compile: machine code, and users' functions with hooks in them.

One file an object, named by the hash of everything that went into it. What is loaded gets executed, so the folder must
belong to the user and be writable by no one else (otherwise there is no disk cache), and a file must carry the digest of
its name and content: a truncated, damaged or renamed one counts as absent. Nothing here raises: a disk that is full,
read-only or missing costs time, not results.

Settings, read at each use: ``TNP_DISABLE_CACHE=1`` switches the cache off; ``TNP_CACHE_DIR`` is the folder;
``TNP_CACHE_SIZE`` is the size in MB past which the entries not used for longest are removed (256).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["clear", "folder", "load", "state_of_sources", "store", "usage"]

MAGIC = b"tnp object 1\n"
DIGEST_BYTES = hashlib.sha256().digest_size
DEFAULT_MEGABYTES = 256
SUFFIX = ".o"

#: what a file of one byte takes on common file systems
_BLOCK = 4096
#: bytes stored between two looks at the folder's size, as a part of the size allowed
_TRIM_EVERY = 1 / 16
#: what a trim leaves, as a part of the size allowed
_TRIM_TO = 3 / 4
#: seconds after which a temporary file has been left by a process that ended
_STALE = 3600

#: bytes stored by this process since it last looked at each folder's size
_stored: dict[Path, int] = {}
_stored_lock = threading.Lock()


def folder() -> Path | None:
    """Where objects are kept, made if need be; None where there is no folder that is safe to load code from."""
    if os.environ.get("TNP_DISABLE_CACHE", "") not in ("", "0") or _limit() == 0:
        return None
    try:
        path = _configured()
        try:
            status = path.stat()
        except FileNotFoundError:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = path.stat()
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return None
    return path if stat.S_ISDIR(status.st_mode) else None


def load(key: str) -> bytes | None:
    """The object stored as ``key``; None if there is none that is whole."""
    path = folder()
    if path is None:
        return None
    file = path / (key + SUFFIX)
    try:
        content = file.read_bytes()
    except OSError:
        return None
    header = len(MAGIC) + DIGEST_BYTES
    image = content[header:]
    if content[:header] != MAGIC + _digest(key, image):
        return None
    with contextlib.suppress(OSError):
        os.utime(file)
    return image


def store(key: str, image: bytes) -> None:
    """Keeps an object as ``key``, in the place of one that is there."""
    path = folder()
    if path is None:
        return
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(suffix=".tmp", dir=path)
        with open(descriptor, "wb") as file:
            file.write(MAGIC + _digest(key, image) + image)
        os.replace(temporary, path / (key + SUFFIX))
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return
    with _stored_lock:
        due = path not in _stored or _stored[path] > _limit() * _TRIM_EVERY
        _stored[path] = 0 if due else _stored[path] + _size_on_disk(len(image))
    if due:
        _trim(path)


@functools.cache
def state_of_sources(path: Path) -> str | None:
    """Which state of the source files below a folder is running: another one may compile the same to something else. ``None`` if there are none."""
    found = []
    for file in sorted(path.rglob("*.py")):
        status = file.stat()
        found.append((file.name, status.st_mtime_ns, status.st_size))
    return repr(found) if found else None


def usage() -> tuple[int, int]:
    """How many objects the folder has, and the bytes that they take on disk."""
    objects = list(_objects(folder()))
    return len(objects), sum(size for _, size, _ in objects)


def clear() -> int:
    """Removes all objects; returns how many went. Programs that have them loaded keep running."""
    removed = 0
    for _, _, file in _objects(folder()):
        with contextlib.suppress(OSError):
            os.unlink(file)
            removed += 1
    return removed


def _objects(path: Path | None) -> Iterator[tuple[int, int, str]]:
    """(time of last use, bytes on disk, file) of each object in a folder."""
    if path is None:
        return
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(SUFFIX):
                    yield status.st_mtime_ns, _size_on_disk(status.st_size), entry.path


def _digest(key: str, image: bytes) -> bytes:
    return hashlib.sha256(key.encode() + image).digest()


def _configured() -> Path:
    """The folder that the environment asks for, else the platform's place for caches."""
    chosen = os.environ.get("TNP_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tnp"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tnp" / "Cache"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG base directory specification: a relative path is to be ignored
    return (Path(shared) if os.path.isabs(shared) else Path.home() / ".cache") / "tnp"


def _limit() -> int:
    """Bytes that the folder may take."""
    try:
        megabytes = float(os.environ["TNP_CACHE_SIZE"])
    except (KeyError, ValueError):
        megabytes = DEFAULT_MEGABYTES
    return max(0, int(megabytes * 2**20)) if megabytes < 2**40 else sys.maxsize


def _size_on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _trim(path: Path) -> None:
    """Removes the objects not used for longest until the folder is well below its limit, and what crashes left."""
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                stale = entry.stat(follow_symlinks=False).st_mtime < time.time() - _STALE
                if entry.name.endswith(".tmp") and stale:
                    os.unlink(entry.path)
    objects = list(_objects(path))
    total = sum(size for _, size, _ in objects)
    limit = _limit()
    if total <= limit:
        return
    for _, size, file in sorted(objects):
        if total <= limit * _TRIM_TO:
            return
        with contextlib.suppress(OSError):
            os.unlink(file)
            total -= size
