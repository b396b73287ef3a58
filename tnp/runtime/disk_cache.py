"""The disk cache: machine code, and user functions with hooks, so that a program's second run does not compile.

One file per object, named by the hash of its inputs. Loaded files are executed, so

- the folder must belong to the user and be writable by no one else, and so must each file, which is checked after it is
  opened. Files are opened without following links and without blocking, so a pipe in place of a file cannot hang a
  process;
- a file must carry the digest of its name and content under the user's *key*, 32 random bytes that only the user can
  read. A file that is truncated, damaged, renamed, forged, or copied from another user counts as absent.

The key lies outside of the folder, because a copy of the folder would include it: ``$XDG_STATE_HOME/tnp/key``, by
default ``~/.local/state/tnp/key`` (macOS: ``~/Library/Application Support/tnp/key``). It is created once. If no key can
be created, or others may read it, there is no disk cache.

No function here raises: a disk that is full, read-only or missing costs time, not results.

Settings, read at each use: ``TNP_DISABLE_CACHE=1`` switches the cache off; ``TNP_CACHE_DIR`` is the folder;
``TNP_CACHE_SIZE`` is the size in MB past which the entries not used for longest are removed (256).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tnp.runtime import environment

__all__ = ["clear", "folder", "key_file", "load", "state_of_sources", "store", "usage", "write"]

MAGIC = b"tnp object 2\n"
DIGEST_BYTES = 32
KEY_BYTES = 32
DEFAULT_MEGABYTES = 256
SUFFIX = ".o"

#: what a file of one byte takes on common file systems
_BLOCK = 4096
#: bytes stored between two looks at the folder's size, as a part of the size allowed, on average over all processes
_TRIM_EVERY = 1 / 16
#: what a trim leaves, as a part of the size allowed
_TRIM_TO = 3 / 4
#: seconds after which a temporary file has been left by a process that ended
_STALE = 3600

#: how files are opened to be read (a link is an error, and who opens a pipe does not wait for its other end), and to be written (they are new)
_READING = os.O_RDONLY | sum(getattr(os, f"O_{flag}", 0) for flag in ("NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY"))
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | (_READING & ~getattr(os, "O_NONBLOCK", 0))

#: the keys that this process has read, by where they lie
_keys: dict[str, bytes] = {}


def folder() -> Path | None:
    """Where objects are kept, made if need be; None where there is no folder, or no key, that is safe to load code by."""
    found = _place()
    return found[0] if found else None


def load(key: str) -> bytes | None:
    """The object stored as ``key``; None if there is none that is whole and was stored with the user's key."""
    place = _place()
    if place is None:
        return None
    path, secret = place
    file = os.path.join(path, key + SUFFIX)
    content = _content(file)
    header = len(MAGIC) + DIGEST_BYTES
    if content is None or content[: len(MAGIC)] != MAGIC:
        return None
    image = content[header:]
    if not hmac.compare_digest(content[len(MAGIC) : header], _digest(secret, key, image)):
        return None
    with contextlib.suppress(OSError):
        os.utime(file)
    return image


def store(key: str, image: bytes) -> None:
    """Keeps an object as ``key``, in the place of one that is there."""
    place = _place()
    if place is None:
        return
    path, secret = place
    if not write(path / (key + SUFFIX), MAGIC + _digest(secret, key, image) + image):
        return
    # A look takes 10 us an object, too long for each process that stores a little: who looks is left to chance.
    chance = int.from_bytes(os.urandom(4), "little") / 2**32
    if chance * _limit() * _TRIM_EVERY < _size_on_disk(len(image)):
        _trim(path)


def write(file: str | Path, content: bytes) -> bool:
    """Writes a file that others cannot read, whole or not at all, in the place of what is there. Whether it was written."""
    try:
        with _written(os.path.dirname(file), content) as temporary:
            os.replace(temporary, file)
    except OSError:
        return False
    return True


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


def _place() -> tuple[Path, bytes] | None:
    """The folder and the user's key; None where the cache is off."""
    if environment.is_on("TNP_DISABLE_CACHE") or _limit() == 0:
        return None
    try:
        path = configured_folder()
        secret = _key() if _is_private_folder(path) else None
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    return (path, secret) if secret is not None else None


def _key() -> bytes | None:
    """The user's key, made if there is none; None if it is not the user's alone. Raises ``OSError`` where it cannot be kept."""
    file = key_file()
    secret = _keys.get(file)
    if secret is None:
        if not os.path.isabs(file) or not _is_private_folder(os.path.dirname(file)):
            return None
        if not os.path.lexists(file):
            _make_key(file)
        secret = _content(file, others=0o077)
        if secret is None or len(secret) != KEY_BYTES:
            return None
        _keys[file] = secret
    return secret


def _make_key(file: str) -> None:
    """Makes a key, of which processes that do so at once all get the first. Raises ``OSError``."""
    with _written(os.path.dirname(file), secrets.token_bytes(KEY_BYTES)) as temporary:
        try:
            os.link(temporary, file)
        except FileExistsError:
            pass
        except OSError:  # the file system has no links; of two keys the later one stays, and what was stored with the other is made anew
            os.replace(temporary, file)


@contextlib.contextmanager
def _written(folder: str, content: bytes) -> Iterator[str]:
    """A new file in a folder, which goes unless it is moved. Raises ``OSError``."""
    temporary = os.path.join(folder, f"{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, _WRITING, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _is_private_folder(path: str | Path) -> bool:
    """Whether there is a folder at ``path``, made if need be, to which only the user can write. Raises ``OSError``."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        os.makedirs(path, mode=0o700, exist_ok=True)
        status = os.stat(path)
    return stat.S_ISDIR(status.st_mode) and _is_private(status)


def _is_private(status: os.stat_result, others: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    """Whether something is the user's, and nobody else has one of the permissions ``others``."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & others)


def _content(file: str, others: int = stat.S_IWGRP | stat.S_IWOTH) -> bytes | None:
    """What a regular file of the user's holds; None if it is none, or others have one of the permissions ``others``."""
    try:
        descriptor = os.open(file, _READING)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_private(status, others):
            return None
        with open(descriptor, "rb", buffering=0, closefd=False) as opened:
            return opened.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _digest(secret: bytes, key: str, image: bytes) -> bytes:
    made = hashlib.blake2b(key.encode() + b"\0", key=secret, digest_size=DIGEST_BYTES)
    made.update(image)
    return made.digest()


def key_file() -> str:
    """Where the user's key lies: where the platform has what programs keep."""
    home = os.path.expanduser("~")  # as it is where there is none
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "tnp", "key")
    if os.name == "nt":
        return os.path.join(environment.text("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "tnp", "key")
    kept = environment.text("XDG_STATE_HOME")
    return os.path.join(kept if os.path.isabs(kept) else os.path.join(home, ".local", "state"), "tnp", "key")


def configured_folder() -> Path:
    """The folder that the environment sets, otherwise the platform's place for caches."""
    chosen = environment.text("TNP_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tnp"
    if os.name == "nt":
        return Path(environment.text("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tnp" / "Cache"
    shared = environment.text("XDG_CACHE_HOME")
    # the XDG base directory specification: a relative path is to be ignored
    return (Path(shared) if os.path.isabs(shared) else Path.home() / ".cache") / "tnp"


def _limit() -> int:
    """Bytes that the folder may take."""
    try:
        megabytes = float(environment.text("TNP_CACHE_SIZE"))
    except ValueError:
        megabytes = DEFAULT_MEGABYTES
    return max(0, int(megabytes * 2**20)) if megabytes < 2**40 else sys.maxsize


def _size_on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _trim(path: Path) -> None:
    """Removes the objects not used for longest until the folder is well below its limit, and what crashes left."""
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.endswith(".tmp") and entry.stat(follow_symlinks=False).st_mtime < time.time() - _STALE:
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
