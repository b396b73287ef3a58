"""From textual LLVM IR to callable machine code.

A module is parsed, optimised by LLVM's pipeline and compiled to an object file, or the object file comes from the disk
(``runtime/disk_cache.py``). ORC then links the object into the process. On one core of a 2.5 GHz Xeon that takes 8 ms
for a loop of six operations over three arrays (half of it optimisation, 40 % code generation), and 0.5 ms if the object
is on the disk.

- Objects are linked, never IR: ORC reports a symbol that it cannot find, where MCJIT leaves a call to address 0, and a
  library of its own for each module can be unloaded.
- The optimiser unrolls a loop only where the loop's metadata requests it (``!"llvm.loop.unroll.full"``, …): unrolling
  everything costs a tenth of the compile time, and pays only for inner loops of a few known trips.
- Position-independent code in the small code model reaches its constants without loading their addresses first.

``TNP_CPU`` selects the target processors: ``native`` (the host, by default), or all of a level of x86-64 (``x86-64``,
``x86-64-v3``, ``x86-64-v4``), so that machines with a common disk cache share code, or to test another machine's code.
It is read once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tnp.core.errors import NoDeviceError
from tnp.runtime import disk_cache, environment, locks

__all__ = [
    "Compiled",
    "Target",
    "Unavailable",
    "check_setting",
    "compile_ir",
    "define_symbol",
    "dump",
    "load_library",
    "recall",
    "remember",
    "target",
]

#: Part of every cache key: raise it when IR of the same text is to become other machine code.
CACHE_VERSION = 5

OLDEST_LLVM = 20


#: the levels of x86-64, by what each has besides those before it (System V ABI, AMD64 supplement, 3.1.1)
LEVELS = {
    "x86-64": ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}


class Unavailable(Exception):
    """A facility that this machine, interpreter or installation lacks; the message says which."""


@dataclass(frozen=True)
class Target:
    """The processor that code is made for, as LLVM describes it: this one, or a level of x86-64.

    ``vector_bits`` is the width of the widest vector register that code is generated for: 128, 256 or 512.
    """

    triple: str
    cpu: str
    features: str
    data_layout: str
    vector_bits: int
    has_f16c: bool

    @property
    def converts_half(self) -> bool:
        """Whether float16 is converted to float32 and back by instructions."""
        return self.has_f16c or self.triple.startswith(("aarch64", "arm64"))

    @property
    def has_masks(self) -> bool:
        """Whether loads and stores of some elements of a vector cost no more than those of all (AVX-512)."""
        return self.vector_bits >= 512

    @property
    def is_zen(self) -> bool:
        """Whether it is one of AMD's Zen processors."""
        return self.cpu.startswith("znver")


class Interface(NamedTuple):
    """The functions that a module exports, and the symbols that it refers to."""

    functions: list[str]
    symbols: list[str]


class Compiled:
    """The machine code of one module; it is unloaded when this object goes."""

    def __init__(self, name: str, library: Any, interface: Interface, key: str, from_cache: bool) -> None:
        self.name = name
        self.interface = interface
        #: the object file's name on the disk
        self.key = key
        #: whether the object file came from the disk
        self.from_cache = from_cache
        #: what :func:`remember` was told, by the key of its text
        self.notes: dict[str, Any] = {}
        self._library = library
        self._addresses = {function: int(library[function]) for function in interface.functions}

    def address(self, function: str) -> int:
        """Where ``function``, which the module defines and exports, begins. Raises ``KeyError`` for any other."""
        return self._addresses[function]


#: held while LLVM's state changes: one thread compiles at a time, and no thread forks meanwhile
_lock = locks.lock_of_forks()
#: llvmlite's own lock around each of its calls; some (unloading) happen outside of ours
_llvmlite_lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()

_serial = itertools.count()

#: the modules that are linked, by the key of their IR and of the texts that they are remembered as: programs repeat themselves
_linked: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()


@functools.cache
def _binding() -> Any:
    """``llvmlite.binding``, its native target made ready."""
    try:
        import llvmlite.binding as binding
    except (ImportError, OSError) as e:
        raise Unavailable(f"llvmlite cannot be imported: {e}") from e
    if binding.llvm_version_info[0] < OLDEST_LLVM:
        found = ".".join(map(str, binding.llvm_version_info))
        raise Unavailable(f"llvmlite has LLVM {found}; {OLDEST_LLVM} or newer is needed")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    try:
        binding.check_jit_execution()
    except OSError as e:
        raise Unavailable(str(e)) from e
    global _llvmlite_lock
    with _lock:
        _llvmlite_lock = locks.lock_of_forks(getattr(binding.ffi.lib, "_lock", _llvmlite_lock))
    return binding


@functools.cache
def _machine(effort: int = 3) -> Any:
    """The target machine that optimises and generates all code, with so much effort (3: all that LLVM knows)."""
    binding = _binding()
    cpu, features = _cpu()
    windows = os.name == "nt"  # its objects (ELF there too) are linked by the older linker, in the large code model
    try:
        return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
            cpu=cpu,
            features=features.flatten(),
            opt=effort,
            reloc="default" if windows else "pic",
            codemodel="jitdefault" if windows else "small",
            jit=True,
        )
    except RuntimeError as e:
        raise Unavailable(f"LLVM has no code generator for this machine: {e}") from e


def _host_features() -> Any:
    """The processor's features, none where LLVM cannot tell them."""
    binding = _binding()
    try:
        return binding.get_host_cpu_features()
    except RuntimeError:
        return binding.FeatureMap()


@functools.cache
def _linker() -> Any:
    binding = _binding()
    try:
        return binding.create_lljit_compiler(_machine(), use_jit_link=os.name != "nt", suppress_errors=True)
    except RuntimeError as e:
        raise Unavailable(f"LLVM cannot link code into this process: {e}") from e


@functools.cache
def _cpu() -> tuple[str, Any]:
    """The processor that ``TNP_CPU`` selects: its name and features. Raises ``ValueError`` for what is none, ``NoDeviceError`` for what this machine does not
    run."""
    asked = environment.text("TNP_CPU") or "native"
    host = _host_features()
    if asked == "native":
        return _binding().get_host_cpu_name(), host
    names = list(LEVELS)
    if asked not in names:
        raise ValueError(f"TNP_CPU is native, {', '.join(names[:-1])} or {names[-1]}, and not {asked!r}")
    features = [f for name in names[: names.index(asked) + 1] for f in LEVELS[name]]
    missing = [f for f in features if not host.get(f)]
    if missing:
        raise NoDeviceError(f"TNP_CPU={asked}: this processor has no {', '.join(missing)}")
    return asked, type(host)(dict.fromkeys(features, True))


def check_setting() -> None:
    """Raises what is wrong with ``TNP_CPU``, if it is set: where tnp is set up, before an error would be one of the program that is compiled."""
    if environment.text("TNP_CPU"):
        with contextlib.suppress(Unavailable):
            target()


@functools.cache
def target() -> Target:
    """The processor that code is made for. Raises ``Unavailable``, ``ValueError`` or ``NoDeviceError`` (see ``TNP_CPU``)."""
    with _lock:
        binding = _binding()
        cpu, features = _cpu()
        triple = binding.get_process_triple()
        x86 = triple.startswith(("x86_64", "amd64"))
        vector_bits = 128
        if x86 and all(features.get(f) for f in ("avx512f", "avx512dq", "avx512bw", "avx512vl")):
            vector_bits = 512
        elif x86 and features.get("avx2"):
            vector_bits = 256
        return Target(
            triple=triple,
            cpu=cpu,
            features=features.flatten(),
            data_layout=str(_machine().target_data),
            vector_bits=vector_bits,
            has_f16c=bool(x86 and features.get("f16c")),
        )


def load_library(name: str) -> bool:
    """Lets code refer to the symbols of a shared library (``libmvec.so.1``); whether the library is there."""
    with _lock:
        try:
            _binding().load_library_permanently(name)
        except RuntimeError:
            return False
        return True


def define_symbol(name: str, address: int) -> None:
    """Lets code that is compiled from now on refer to ``address`` as ``@name``. The last definition counts."""
    with _lock:
        _binding().add_symbol(name, address)


def compile_ir(ir: str, name: str, level: int = 3) -> Compiled:
    """Compiles and links a module. Any thread may call it; one compiles at a time. A module whose code is linked already is that code.

    ``level`` says how hard LLVM tries. At 0 it only translates, in a tenth of the time. It vectorises loops from 1 on; at 1, for straight lines in loops, it looks for less in what code does from
    branch to branch, for no vectors outside of loops, and does not order the instructions once more when registers are known. At 2, whose
    loops have lengths that nobody knows, what a loop's vectors leave over is computed one by one, without a loop of shorter vectors.

    ``ir`` has no target lines: they are added. Symbols that it declares are looked for among those defined by
    ``define_symbol``, then in the process and its libraries. ``name`` tells the module from others in dumps.
    Addresses written into the text as numbers would keep it from ever being found on the disk: declare a symbol instead.

    Raises ``Unavailable`` where this machine cannot run compiled code or lacks a symbol, ``ValueError`` for wrong IR.
    """
    machine = target()
    text = f'target datalayout = "{machine.data_layout}"\ntarget triple = "{machine.triple}"\n{ir}'
    key = _key(text, machine, level)
    wanted = set(environment.text("TNP_DUMP").replace(",", " ").split())
    if "ir" in wanted:
        _dump(text, name, key, ".ll")
    interface = _interface(ir)
    with _lock:
        if not wanted & {"opt", "asm"}:
            linked = _linked.get(key)
            if linked is not None:
                return linked
            cached = disk_cache.load(key)
            if cached is not None:
                try:
                    compiled = _linked[key] = _link(cached, interface, name, key, from_cache=True)
                    return compiled
                except Unavailable:
                    pass  # what the object refers to may be missing here: the object made anew decides
        made = _object(text, name, key, wanted, level)
        compiled = _linked[key] = _link(made, interface, name, key, from_cache=False)
    disk_cache.store(key, made)
    return compiled


def remember(text: str, compiled: Compiled, note: Any) -> None:
    """Keeps ``compiled`` and a ``note`` (a JSON value) under ``text`` for :func:`recall`: in memory while it is linked, and in the disk
    cache, if there is one."""
    content = json.dumps({"object": compiled.key, "interface": compiled.interface, "note": note})
    key = _key(text, target())
    with _lock:
        compiled.notes[key] = note
        _linked[key] = compiled
    disk_cache.store(key, content.encode())


def recall(text: str, name: str) -> tuple[Compiled, Any] | None:
    """What :func:`remember` was told with this text, by this process or another; ``None`` if it is neither linked nor on the disk, or
    does not link here."""
    if environment.text("TNP_DUMP"):
        return None  # nothing is written, so nothing could be shown
    key = _key(text, target())
    with _lock:
        linked = _linked.get(key)
        if linked is not None:
            return linked, linked.notes[key]
        content = disk_cache.load(key)
        found = json.loads(content) if content is not None else None
        image = disk_cache.load(found["object"]) if found is not None else None
        if image is None:
            return None
        try:
            compiled = _link(image, Interface(*found["interface"]), name, found["object"], from_cache=True)
        except Unavailable:
            return None
        compiled.notes[key] = found["note"]
        _linked[key] = compiled
    return compiled, found["note"]


def _key(text: str, machine: Target, level: int = 0) -> str:
    """The name on disk of the object that ``text`` becomes."""
    binding = _binding()
    import llvmlite

    parts = (CACHE_VERSION, llvmlite.__version__, binding.llvm_version_info, machine.cpu, machine.features, level)
    return hashlib.sha256(f"{parts}\n{text}".encode()).hexdigest()


def _object(text: str, name: str, key: str, wanted: set[str], level: int) -> bytes:
    """The object file of a module, optimised."""
    binding = _binding()
    try:
        # a context of its own: what LLVM keeps for a context (types, constants, names) goes with the module
        module = binding.parse_assembly(text, binding.create_context())
        module.verify()
    except RuntimeError as e:
        raise ValueError(f"the IR of {name} is wrong: {e}") from e
    module.name = name
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = True
    options.loop_interleaving = True
    options.slp_vectorization = level > 1
    options.loop_unrolling = False
    builder = binding.create_pass_builder(_machine(), options)
    passes = builder.getModulePassManager()
    with _switched("enable-epilogue-vectorization", "false" if level == 2 else "true", "true"):
        passes.run(module, builder)
    _dispose(passes)
    if "opt" in wanted:
        _dump(str(module), name, key, ".opt.ll")
    # Code is generated with the addresses of loops as they are written, base and index, which processors add up by themselves: LLVM's
    # search for better ones (loop strength reduction) takes a third of the time.
    generator = _machine(level if level < 2 else 3)
    with _switched("disable-lsr", "true", "false"):
        if "asm" in wanted:
            _dump(generator.emit_assembly(module), name, key, ".s")
        return bytes(generator.emit_object(module))


@contextlib.contextmanager
def _switched(option: str, value: str, default: str) -> Iterator[None]:
    """An option of LLVM's, of the whole process, while llvmlite's lock is held: code of others is made as ever."""
    if value == default:  # to set one takes a tenth of a millisecond
        yield
        return
    binding = _binding()
    with _llvmlite_lock:
        binding.set_option("tnp", f"-{option}={value}")
        try:
            yield
        finally:
            binding.set_option("tnp", f"-{option}={default}")


def _dispose(passes: Any) -> None:
    """Frees a pass manager: in llvmlite 0.50 and before, the method that is to do it is hidden by one that does nothing,
    which would lose 70 KB a module."""
    from llvmlite.binding import ffi, newpassmanagers

    if type(passes)._dispose is ffi.ObjectRef._dispose:
        newpassmanagers.NewPassManager._dispose(passes)
        passes.detach()


#: a definition's linkage and the like, and its name; LLVM's printer and ours write each on one line
_DEFINITION = re.compile(r'^define\b([^@\n]*)@"?([-\w.$]+)"?\(', re.MULTILINE)
_DECLARATION = re.compile(r'^declare\b[^@\n]*@"?(?!llvm\.)([-\w.$]+)"?\(', re.MULTILINE)
_EXTERNAL_GLOBAL = re.compile(r'^@"?([-\w.$]+)"? *= *external\b', re.MULTILINE)
_LOCAL_LINKAGE = {"internal", "private", "linkonce", "linkonce_odr", "available_externally"}


def _interface(ir: str) -> Interface:
    functions = [f for linkage, f in _DEFINITION.findall(ir) if not _LOCAL_LINKAGE.intersection(linkage.split())]
    return Interface(functions, list(dict.fromkeys(_DECLARATION.findall(ir) + _EXTERNAL_GLOBAL.findall(ir))))


def _link(image: bytes, interface: Interface, name: str, key: str, from_cache: bool) -> Compiled:
    """Links an object file into the process."""
    binding = _binding()
    missing = []
    library = binding.JITLibraryBuilder().add_object_img(image).add_current_process()
    for function in interface.functions:
        library.export_symbol(function)
    for symbol in interface.symbols:
        address = binding.address_of_symbol(symbol)
        if address:
            library.import_symbol(symbol, address)
        else:
            missing.append(symbol)
    try:
        linked = library.link(_linker(), f"tnp.{next(_serial)}")
    except RuntimeError as e:
        # without a name, it is a function that code generation refers to: __truncdfhf2, …
        reason = f"this process has no {', '.join(missing)}" if missing else str(e)
        raise Unavailable(f"{name} cannot be linked: {reason}") from e
    return Compiled(name, linked, interface, key, from_cache)


def dump(stage: str, show: Callable[[], str], name: str) -> None:
    """Writes out a ``stage`` of a region that comes before its IR, if ``TNP_DUMP`` asks for it."""
    if stage in environment.text("TNP_DUMP").replace(",", " ").split():
        text = show()
        _dump(text + "\n", name, hashlib.sha256(text.encode()).hexdigest(), f".{stage}")


def _dump(text: str, name: str, key: str, suffix: str) -> None:
    """Writes a stage of ``name`` to the folder ``TNP_DUMP_DIR``, else to standard error."""
    folder = environment.text("TNP_DUMP_DIR")
    title = re.sub(r"[^-\w.]", "_", name) + f"-{key[:8]}{suffix}"
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, title).write_text(text)
    else:
        print(f"; ---- {title}\n{text}", file=sys.stderr)
