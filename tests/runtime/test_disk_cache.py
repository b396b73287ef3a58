"""What is on the disk is used only if the user stored it: files are opened with care, and entries are signed by a key of the user's."""

import concurrent.futures
import hashlib
import os
import shutil
import sys
import threading

import numpy as np
import pytest

import tnp
from tnp.executors.shared.diagnostics import written
from tnp.runtime import disk_cache

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no numeric owner on this system")

NAME, IMAGE = "a" * 64, b"the image"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, of a user without a key."""
    for name in ("TNP_DISABLE_CACHE", "TNP_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "cache"))
    another_user(monkeypatch, tmp_path / "state")
    return tmp_path / "cache"


def another_user(monkeypatch, state):
    """What follows is as a new process of a user sees it whose keys are kept in ``state``."""
    monkeypatch.setattr(disk_cache, "key_file", lambda: str(state / "tnp" / "key"))
    monkeypatch.setattr(disk_cache, "_keys", {})


@pytest.fixture
def entry(folder):
    """The file of an object that is found."""
    disk_cache.store(NAME, IMAGE)
    assert disk_cache.load(NAME) == IMAGE
    return folder / f"{NAME}.o"


def within_seconds(function, *args):
    """What a function returns that must not wait for anybody."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)), daemon=True)
    thread.start()
    thread.join(20)
    assert results, "it hangs"
    return results[0]


# Entries


def test_a_link_is_not_followed(entry, tmp_path):
    target = tmp_path / "elsewhere"
    entry.rename(target)
    entry.symlink_to(target)
    before = target.read_bytes()
    assert disk_cache.load(NAME) is None
    disk_cache.store(NAME, b"another")
    assert not entry.is_symlink()
    assert disk_cache.load(NAME) == b"another"
    assert target.read_bytes() == before


def test_a_pipe_in_the_place_of_an_entry_does_not_hang(entry):
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert within_seconds(disk_cache.load, NAME) is None
    within_seconds(disk_cache.store, NAME, IMAGE)
    assert disk_cache.load(NAME) == IMAGE


def test_a_folder_in_the_place_of_an_entry(entry):
    entry.unlink()
    entry.mkdir()
    assert disk_cache.load(NAME) is None
    disk_cache.store(NAME, IMAGE)
    assert disk_cache.load(NAME) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_can_write_is_not_used(entry, mode):
    entry.chmod(mode)
    assert disk_cache.load(NAME) is None
    disk_cache.store(NAME, IMAGE)
    assert disk_cache.load(NAME) == IMAGE
    assert entry.stat().st_mode & 0o777 == 0o600


def test_an_entry_of_another_user_is_not_used(entry, monkeypatch):
    look = os.fstat

    def of_another(descriptor):
        fields = list(look(descriptor))
        fields[4] += 1  # st_uid
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", of_another)
    assert disk_cache.load(NAME) is None


@pytest.mark.parametrize(
    "digest",
    [
        lambda signed: hashlib.sha256(signed).digest(),
        lambda signed: hashlib.blake2b(signed, digest_size=disk_cache.DIGEST_BYTES).digest(),
        lambda signed: hashlib.blake2b(
            signed, key=bytes(disk_cache.KEY_BYTES), digest_size=disk_cache.DIGEST_BYTES
        ).digest(),
    ],
    ids=["sha256", "without a key", "with another key"],
)
def test_a_forged_entry_is_refused(entry, digest):
    forged = b"forged"
    entry.write_bytes(disk_cache.MAGIC + digest(NAME.encode() + b"\0" + forged) + forged)
    assert disk_cache.load(NAME) is None


def test_an_entry_is_bound_to_its_name(entry):
    other = "b" * 64
    shutil.copy(entry, entry.with_name(f"{other}.o"))
    assert disk_cache.load(other) is None


def test_what_somebody_else_stored_is_refused(entry, monkeypatch, tmp_path):
    another_user(monkeypatch, tmp_path / "other")
    assert disk_cache.load(NAME) is None
    disk_cache.store(NAME, b"another")
    assert disk_cache.load(NAME) == b"another"


def test_a_function_runs_whatever_lies_in_its_folder(folder, monkeypatch, tmp_path):
    x = np.arange(6.0)

    def f(x):
        return np.sqrt(x) + 1

    tnp.jit(f)(x)
    stored = list(folder.iterdir())
    assert stored
    for file in stored:
        file.unlink()
        os.mkfifo(file, 0o600)
    np.testing.assert_array_equal(within_seconds(tnp.jit(f), x), f(x))


def test_a_report_does_not_wait_for_a_pipe(folder):
    path = written("the source", "some", ".txt")
    os.unlink(path)
    os.mkfifo(path)
    assert within_seconds(written, "the source", "some", ".txt") == path
    with open(path) as file:
        assert file.read() == "the source"


# The key


def test_the_key_is_the_users_alone(entry):
    key = disk_cache.key_file()
    assert os.stat(key).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(key)).st_mode & 0o777 == 0o700
    assert os.path.getsize(key) == disk_cache.KEY_BYTES
    assert os.listdir(os.path.dirname(key)) == ["key"]


def test_a_key_is_made_once(entry, monkeypatch):
    monkeypatch.setattr(disk_cache, "_keys", {})  # another process
    assert disk_cache.load(NAME) == IMAGE


@pytest.mark.parametrize("links", [True, False])
def test_processes_that_begin_at_once_have_one_key(folder, monkeypatch, links):
    def refuse(*args, **kwargs):
        raise PermissionError("the file system has no links")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    os.makedirs(os.path.dirname(disk_cache.key_file()), mode=0o700)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: disk_cache._make_key(disk_cache.key_file()), range(32)))
    disk_cache.store(NAME, IMAGE)
    assert disk_cache.load(NAME) == IMAGE
    assert os.listdir(os.path.dirname(disk_cache.key_file())) == ["key"]
    if links:
        first = disk_cache._key()
        disk_cache._make_key(disk_cache.key_file())
        disk_cache._keys.clear()
        assert disk_cache._key() == first


def spoil_link(key):
    key.rename(key.with_name("elsewhere"))
    key.symlink_to(key.with_name("elsewhere"))


def spoil_pipe(key):
    key.unlink()
    os.mkfifo(key, 0o600)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda key: key.chmod(0o640),
        lambda key: key.chmod(0o604),
        lambda key: key.write_bytes(b"short"),
        lambda key: key.parent.chmod(0o770),
        spoil_link,
        spoil_pipe,
    ],
    ids=["readable by the group", "readable by others", "short", "folder of a group", "link", "pipe"],
)
def test_with_a_key_that_is_not_safe_the_cache_is_off(entry, monkeypatch, tmp_path, spoil):
    monkeypatch.setattr(disk_cache, "_keys", {})
    spoil(tmp_path / "state" / "tnp" / "key")
    assert within_seconds(disk_cache.folder) is None
    assert disk_cache.load(NAME) is None
    before = entry.stat()
    disk_cache.store(NAME, b"another")
    assert entry.stat() == before


def test_where_no_key_can_be_kept_the_cache_is_off(folder, monkeypatch, tmp_path):
    (tmp_path / "state").write_text("a file in the folder's place")
    assert disk_cache.folder() is None
    disk_cache.store(NAME, IMAGE)
    assert not list(folder.glob("*"))
    x = np.arange(6.0)
    np.testing.assert_array_equal(tnp.jit(lambda x: np.sqrt(x) + 1)(x), np.sqrt(x) + 1)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one place for what programs keep")
def test_the_key_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "/nowhere/state")
    assert disk_cache.key_file() == "/nowhere/state/tnp/key"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert disk_cache.key_file() == f"{tmp_path}/.local/state/tnp/key"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert disk_cache.key_file() == f"{tmp_path}/.local/state/tnp/key"
