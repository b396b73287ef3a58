"""The llvm executor's ground: code is compiled, kept on disk and found again, and parallel loops share the cores."""

import concurrent.futures
import ctypes
import errno
import os
import subprocess
import sys
import textwrap
import threading
import time
import types

import pytest

from tnp.runtime import disk_cache, engine, threads

try:
    engine.target()
except engine.Unavailable as unavailable:
    pytest.skip(str(unavailable), allow_module_level=True)

I64 = ctypes.c_int64

ADD = """
define i64 @f(i64 %a) {
  %b = add i64 %a, AMOUNT
  ret i64 %b
}
"""

LOOP = """
define i64 @f(ptr noalias %x, ptr noalias %y) "prefer-vector-width"="WIDTH" {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i.next, %loop]
  %x.at = getelementptr inbounds double, ptr %x, i64 %i
  %y.at = getelementptr inbounds double, ptr %y, i64 %i
  %value = load double, ptr %x.at
  %square = fmul double %value, %value
  store double %square, ptr %y.at
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i.next, LENGTH
  br i1 %more, label %loop, label %done METADATA
done:
  ret i64 0
}
"""


def add(amount, name="add"):
    return engine.compile_ir(ADD.replace("AMOUNT", str(amount)), name)


def call(compiled, value=1):
    return ctypes.CFUNCTYPE(I64, I64)(compiled.address("f"))(value)


class Nothing(dict):
    """Keeps nothing."""

    def __setitem__(self, key, value):
        pass


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test's own cache folder, where alone code is found again."""
    monkeypatch.setattr(engine, "_linked", Nothing())
    path = tmp_path / "cache"
    for name in ("TNP_DISABLE_CACHE", "TNP_CACHE_SIZE", "TNP_DUMP", "TNP_DUMP_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TNP_CACHE_DIR", str(path))
    return path


def run(program, **environment):
    """The output of a program in a process of its own, which must end well."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


# Compiling


def test_the_target_is_this_processor():
    target = engine.target()
    assert target.vector_bits in (128, 256, 512)
    assert target.vector_bits != 512 or "+avx512f" in target.features.split(",")
    assert target.has_f16c == ("+f16c" in target.features.split(","))


def test_compiled_code_runs():
    assert call(add(41)) == 42


def test_modules_may_define_the_same_name():
    first, second = add(1), add(2)
    assert (call(first), call(second)) == (2, 3)


def test_only_exported_functions_have_addresses():
    compiled = engine.compile_ir('define internal void @g() { ret void }\ndefine void @"h.1"() { ret void }', "two")
    assert compiled.address("h.1")
    with pytest.raises(KeyError):
        compiled.address("g")


@pytest.mark.parametrize("ir", ["define i64 @f( {", "define i64 @f() {\n  ret i64 %nothing\n}"])
def test_wrong_ir_is_an_error(ir):
    with pytest.raises(ValueError, match="the IR of wrong"):
        engine.compile_ir(ir, "wrong")


def test_a_missing_symbol_is_told_of():
    ir = "declare void @tnp_no_such_symbol()\ndefine void @f() {\n  call void @tnp_no_such_symbol()\n  ret void\n}"
    with pytest.raises(engine.Unavailable, match="tnp_no_such_symbol"):
        engine.compile_ir(ir, "lost")


def test_symbols_come_from_definitions_and_libraries():
    body = ctypes.CFUNCTYPE(I64, I64)(lambda x: 10 * x)
    engine.define_symbol("tnp_test_ten_times", ctypes.cast(body, ctypes.c_void_p).value)
    ir = "declare i64 @tnp_test_ten_times(i64)\ndeclare i64 @llabs(i64)\n" + textwrap.dedent("""
        define i64 @f(i64 %a) {
          %b = call i64 @llabs(i64 %a)
          %c = call i64 @tnp_test_ten_times(i64 %b)
          ret i64 %c
        }
        """)
    assert call(engine.compile_ir(ir, "calls"), -3) == 30
    assert not engine.load_library("libtnp_no_such_library.so")


def test_threads_may_compile_at_once():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda i: call(add(i % 8)), range(32))) == [i % 8 + 1 for i in range(32)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_a_thread_compiles_can_compile():
    program = """
        import os, threading
        from tnp.runtime import engine
        def compile(i):
            return engine.compile_ir(f"define i64 @f() {{ ret i64 {i} }}", "forked").address("f")
        done = threading.Event()
        def work():
            i = 0
            while not done.is_set():
                compile(i := i + 1)  # compiled, linked and unloaded
        thread = threading.Thread(target=work)
        thread.start()
        for i in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if compile(-i) else 1)
            assert os.waitpid(child, 0)[1] == 0
        done.set()
        thread.join()
        """
    assert run(program, TNP_DISABLE_CACHE="1") == []


def optimised(monkeypatch, tmp_path, ir):
    monkeypatch.setenv("TNP_DUMP", "opt")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path / "dump"))
    engine.compile_ir(ir, "optimised")
    (file,) = (tmp_path / "dump").iterdir()
    text = file.read_text()
    file.unlink()
    return text


def test_loops_use_the_widest_vectors(monkeypatch, tmp_path):
    width = engine.target().vector_bits
    ir = LOOP.replace("WIDTH", str(width)).replace("LENGTH", "1000").replace("METADATA", "")
    assert f"fmul <{width // 64} x double>" in optimised(monkeypatch, tmp_path, ir)


def test_loops_are_unrolled_on_request(monkeypatch, tmp_path):
    ir = LOOP.replace("WIDTH", "128").replace("LENGTH", "3")
    request = ', !llvm.loop !0\n!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.full"}'
    inside, metadata = request.split("\n", 1)
    assert "phi" in optimised(monkeypatch, tmp_path, ir.replace("METADATA", ""))
    assert "phi" not in optimised(monkeypatch, tmp_path, ir.replace("METADATA", inside) + metadata)


def test_stages_can_be_dumped(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TNP_DUMP", "ir,opt,asm")
    monkeypatch.setenv("TNP_DUMP_DIR", str(tmp_path / "dump"))
    add(1, "some/name")
    add(1, "some/name")  # a dump asks for a compilation even when the object is on disk
    assert [p.name.split(".", 1)[1] for p in sorted((tmp_path / "dump").iterdir())] == ["ll", "opt.ll", "s"]
    monkeypatch.delenv("TNP_DUMP_DIR")
    add(1)
    assert capsys.readouterr().err.count("; ---- add-") == 3


# The cache on disk


def entries(folder):
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_second_compilation_loads_the_object(folder):
    assert not add(1).from_cache
    again = add(1)
    assert again.from_cache
    assert call(again) == 2
    assert not add(2).from_cache
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(entries(folder)) == 2


def test_an_object_is_found_by_another_process(folder):
    program = """
        from tnp.runtime import engine
        print(engine.compile_ir("define void @f() { ret void }", "empty").from_cache)
        """
    assert run(program) + run(program) == ["False", "True"]


def test_what_determines_the_code_is_in_the_key(monkeypatch):
    add(1)
    monkeypatch.setattr(engine, "CACHE_VERSION", engine.CACHE_VERSION + 1)
    assert not add(1).from_cache


def flip_last_byte(content):
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    "damage",
    [
        flip_last_byte,
        lambda content: content[:-10],
        lambda content: content[: len(disk_cache.MAGIC) + 5],
        lambda content: b"",
        lambda content: b"x" + content,
    ],
    ids=["flipped", "truncated", "header only", "empty", "foreign"],
)
def test_a_damaged_entry_is_made_anew(folder, damage):
    add(1)
    (entry,) = entries(folder)
    entry.write_bytes(damage(entry.read_bytes()))
    rebuilt = add(1)
    assert not rebuilt.from_cache
    assert call(rebuilt) == 2
    assert add(1).from_cache


def test_a_renamed_entry_is_not_used(folder):
    add(1)
    (one,) = entries(folder)
    content = one.read_bytes()
    add(2)
    (two,) = set(entries(folder)) - {one}
    two.write_bytes(content)
    compiled = add(2)
    assert not compiled.from_cache
    assert call(compiled) == 3


def test_an_entry_that_does_not_link_is_made_anew(folder):
    add(1)
    (entry,) = entries(folder)
    disk_cache.store(entry.stem, b"no object file")
    assert call(add(1)) == 2
    assert add(1).from_cache


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_not_used(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    assert call(add(1)) == 2
    assert not add(1).from_cache
    assert not entries(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no numeric owner on this system")
def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    add(1)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert not add(1).from_cache


def test_a_folder_that_cannot_be_made_is_no_error(folder):
    folder.write_text("a file in its place")
    assert disk_cache.folder() is None
    assert call(add(1)) == 2


def test_a_folder_that_cannot_be_written_is_read(folder, monkeypatch):
    add(1)

    opens = os.open

    def refuse(path, flags=os.O_WRONLY, *args, **kwargs):
        if flags & os.O_WRONLY:
            raise OSError(errno.EROFS, "read-only file system")
        return opens(path, flags, *args, **kwargs)

    # root may write where the mode forbids it: refuse the system's calls instead
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    assert add(1).from_cache
    assert call(add(2)) == 3
    assert not add(2).from_cache


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert call(add(1)) == 2
    assert not entries(folder)


@pytest.mark.parametrize("name, value", [("TNP_DISABLE_CACHE", "1"), ("TNP_CACHE_SIZE", "0")])
def test_the_cache_can_be_switched_off(folder, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    add(1)
    assert not add(1).from_cache
    assert not entries(folder)


def test_entries_not_used_for_longest_go_first(folder, monkeypatch):
    monkeypatch.setenv("TNP_CACHE_SIZE", "1")
    image = bytes(100_000)
    for i in range(5):
        disk_cache.store(f"{i:064}", image)
        os.utime(folder / f"{i:064}.o", (1000 + i, 1000 + i))
    assert disk_cache.load(f"{0:064}") == image  # used now: the first to go is 1
    for i in range(5, 12):
        disk_cache.store(f"{i:064}", image)
    kept = [i for i in range(12) if disk_cache.load(f"{i:064}") is not None]
    assert sum(p.stat().st_size for p in entries(folder)) <= 2**20
    assert {0, 11} <= set(kept)
    assert 1 not in kept


def test_temporary_files_of_crashes_are_removed(folder, monkeypatch):
    monkeypatch.setenv("TNP_CACHE_SIZE", "0.05")  # who stores a sixteenth of it looks through the folder
    folder.mkdir(mode=0o700)
    old, new = folder / "old.tmp", folder / "new.tmp"
    for file in (old, new):
        file.touch()
    os.utime(old, (time.time() - 86_400,) * 2)
    add(1)
    assert not old.exists()
    assert new.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one place for caches")
@pytest.mark.parametrize(
    "environment, place",
    [
        ({"TNP_CACHE_DIR": "~/mine"}, "home/mine"),
        ({"XDG_CACHE_HOME": "/nowhere/xdg"}, "/nowhere/xdg/tnp"),
        ({"XDG_CACHE_HOME": "relative"}, "home/.cache/tnp"),
        ({}, "home/.cache/tnp"),
    ],
)
def test_the_folder_follows_the_environment(tmp_path, monkeypatch, environment, place):
    for name in ("TNP_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert disk_cache.configured_folder() == tmp_path / place


# Parallel loops

Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p, I64, I64)


@pytest.fixture
def parallel():
    """``tnp_parallel`` as Python calls it: returns the parts that ran, each with its thread."""
    threads.ensure_runtime()
    before = threads.get_num_threads()
    native = ctypes.CFUNCTYPE(None, Body, ctypes.c_void_p, I64, I64)(threads._compiled.address("tnp_parallel"))

    def loop(n, grain, inside=lambda: None):
        parts = []

        def body(context, begin, end):
            parts.append((begin, end, threading.get_ident()))
            inside()

        threads._state.alone_until = 0  # as if no thread had been late
        native(Body(body), None, n, grain)
        return sorted(parts)

    yield loop
    threads.set_num_threads(before)


def covers(parts, n):
    begins, ends = [p[0] for p in parts], [p[1] for p in parts]
    return begins == [0, *ends[:-1]] and ends[-1] == n


def allowed():
    """How many threads the runtime gives this thread."""
    library = threads._runtimes[-1][1] if threads._runtimes else None
    return library.omp_get_max_threads() if library else 1


def threads_of(parts):
    return len({thread for *_, thread in parts})


def rest():
    """Time for all threads to come."""
    time.sleep(0.005)


@pytest.mark.parametrize("n, grain", [(1, 1), (2, 1), (7, 2), (1000, 1), (1001, 300), (10, 0), (5, 100)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_loop_is_split_into_pieces(parallel, n, grain, count):
    threads.set_num_threads(count)
    parts = parallel(n, grain, inside=rest)
    assert covers(parts, n)
    asked = max(1, min(count, allowed(), n // max(grain, 1)))
    assert asked <= len(parts) <= asked * threads.PIECES
    assert min(end - begin for begin, end, _ in parts) >= min(grain, n)
    assert threads_of(parts) == asked


def test_one_thread_is_the_calling_one(parallel):
    threads.set_num_threads(1)
    assert parallel(100, 1) == [(0, 100, threading.get_ident())]


def test_a_loop_inside_a_loop_stays_on_its_thread(parallel):
    threads.set_num_threads(4)
    inner = []
    outer = parallel(4, 1, inside=lambda: inner.append((threading.get_ident(), parallel(4, 1))))
    assert covers(outer, 4)
    if threads_of(outer) > 1:
        assert all(parts == [(0, 4, thread)] for thread, parts in inner)


def test_threads_share_the_cores(parallel):
    threads.set_num_threads(2)
    if allowed() < 2:
        pytest.skip("one core")
    meanwhile = []

    def other():
        meanwhile.append((threading.get_ident(), parallel(4, 1)))

    def inside():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    parallel(4, 1, inside=inside)
    # two threads for two loops at once: one each
    assert all(parts == [(0, 4, thread)] for thread, parts in meanwhile)
    assert threads_of(parallel(4, 1, inside=rest)) == 2


def test_without_a_runtime_loops_run_on_one_thread(parallel, monkeypatch):
    runtime = threads._state.runtime
    threads._state.runtime = None
    try:
        assert parallel(100, 1) == [(0, 100, threading.get_ident())]
    finally:
        threads._state.runtime = runtime


def test_limits_of_threadpoolctl_hold(parallel):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    threads.set_num_threads(4)
    with threadpoolctl.threadpool_limits(1):
        assert threads_of(parallel(100, 1)) == 1
    assert threads_of(parallel(100, 1, inside=rest)) == min(4, allowed())


def test_the_number_of_threads_is_checked():
    before = threads.get_num_threads()
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            threads.set_num_threads(wrong)
    with pytest.raises(TypeError):
        threads.set_num_threads(2.5)
    assert threads.get_num_threads() == before


PARTS = """
    import ctypes, os, sys, threading, time
    from tnp.runtime import threads
    threads.ensure_runtime()
    Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    native = ctypes.CFUNCTYPE(None, Body, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        threads._compiled.address("tnp_parallel")
    )
    def parts():
        found = set()
        threads._state.alone_until = 0  # as if no thread had been late
        native(Body(lambda context, begin, end: found.add(threading.get_ident()) or time.sleep(0.005)), None, 100, 1)
        return len(found)
    """


@pytest.mark.parametrize("setting, count", [("3", 3), ("1", 1), ("4,2", 4)])
def test_the_environment_sets_the_number_of_threads(setting, count):
    counts = run(PARTS + "print(threads.get_num_threads(), parts())", OMP_NUM_THREADS=setting)
    assert int(counts[0]) == count
    assert int(counts[1]) in (1, count)  # 1: a machine without an OpenMP runtime


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_runs_on_one_thread():
    program = """
    before = parts()
    child = os.fork()
    if child == 0:
        threads.set_num_threads(4)
        threads.ensure_runtime()
        from tnp.runtime import engine
        engine.compile_ir("define void @f() { ret void }", "in the child")
        os._exit(10 * threads.get_num_threads() + parts())
    print(before == parts(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(PARTS + program, OMP_NUM_THREADS="4") == ["True", "11"]


def test_torch_and_kernels_share_a_runtime():
    pytest.importorskip("torch")
    program = """
    first = len(threads._runtimes)
    import torch
    threads.ensure_runtime()
    if len(threads._runtimes) > 0:
        torch.set_num_threads(2)
        print(parts())
        torch.set_num_threads(1)
        print(parts())
        print("torch" in threads._candidates()[0] or "torch" not in str(threads._candidates()))
    """
    assert run(PARTS + program, OMP_NUM_THREADS="4") in ([], ["2", "1", "True"])


def test_threads_of_the_runtime_soon_sleep_unless_the_user_has_asked(monkeypatch):
    seen = []
    monkeypatch.setattr(threads.ctypes, "CDLL", lambda name: seen.append(os.environ.get("GOMP_SPINCOUNT")))
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    threads._load("libgomp.so.1")
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    threads._load("libgomp.so.1")
    monkeypatch.setenv("GOMP_SPINCOUNT", "77")
    threads._load("libgomp.so.1")
    assert seen == [str(threads.SPINS), None, "77"]
    assert os.environ["GOMP_SPINCOUNT"] == "77"


@pytest.mark.skipif(sys.platform != "linux", reason="the names are Linux's")
def test_the_systems_runtime_stands_before_those_of_other_packages(monkeypatch):
    of_sklearn, of_torch = "/p/scikit_learn.libs/libgomp-e985bcbb.so.1.0.0", "/p/torch/lib/libgomp-a34b3233.so.1"
    monkeypatch.setattr(threads, "_loaded_libraries", lambda: ["/p/other.so", of_torch, of_sklearn])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert threads._candidates() == ["libgomp.so.1", "libomp.so.5", "libiomp5.so", of_sklearn, of_torch]
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__file__="/p/torch/__init__.py"))
    assert threads._candidates()[:2] == [of_torch, "libgomp.so.1"]
