"""torch and CuPy take memory from one pool: on stand-ins that count it."""

import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from tnp.runtime import device_allocator  # noqa: E402


class OutOfMemoryError(MemoryError):
    def __init__(self, size, total, limit=0):
        super().__init__(f"Out of memory allocating {size} bytes (allocated so far: {total} bytes)")


class PythonFunctionAllocator:
    """CuPy's: a pair of functions as an allocator, whose memory is freed with the last look at it."""

    def __init__(self, malloc_func, free_func):
        self.functions = malloc_func, free_func

    def malloc(self, size):
        return Memory(self.functions[0](size, 0), self.functions[1])


class Memory:
    def __init__(self, pointer, free):
        assert type(pointer) is int
        self.pointer, self.free = pointer, free

    def __del__(self):
        self.free(self.pointer, 0)


class Device:
    """A device of 1000 bytes, with torch's pool and CuPy."""

    def __init__(self):
        self.allocated, self.streams = {}, []
        own = SimpleNamespace(malloc=lambda size: None)
        self.current = own.malloc
        cuda = SimpleNamespace(
            PythonFunctionAllocator=PythonFunctionAllocator,
            set_allocator=lambda allocator: setattr(self, "current", allocator),
            get_allocator=lambda: self.current,
            get_current_stream=lambda: SimpleNamespace(ptr=77),
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        )
        self.cupy = SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: own)

    def caching_allocator_alloc(self, size, device=None, stream=None):
        if size + sum(self.allocated.values()) > 1000:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.streams.append(stream)
        pointer = max(self.allocated, default=0) + 1
        self.allocated[pointer] = size
        return pointer

    def caching_allocator_delete(self, mem_ptr):
        del self.allocated[mem_ptr]


@pytest.fixture
def device(monkeypatch):
    made = Device()
    monkeypatch.setitem(sys.modules, "cupy", made.cupy)
    monkeypatch.setattr(device_allocator, "_allocators", [])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: sum(made.allocated.values()))
    for name in ("caching_allocator_alloc", "caching_allocator_delete"):
        monkeypatch.setattr(torch.cuda, name, getattr(made, name))
    return made


def test_memory_of_cupy_is_torchs(device):
    assert device_allocator.share_with_torch() and device_allocator.share_with_torch()
    memory = device.current(300)
    assert [*device.allocated.values()] == [300] and device.streams == [77]
    nothing = device.current(0)
    del memory, nothing
    assert not device.allocated


def test_memory_that_runs_out_is_cupys_error_and_leaks_nothing(device):
    device_allocator.share_with_torch()
    memory = device.current(800)
    with pytest.raises(OutOfMemoryError, match="allocating 300 bytes"):
        device.current(300)
    del memory
    assert not device.allocated
    assert device.current(900).pointer == 1


def test_an_allocator_of_the_users_stays(device):
    chosen = PythonFunctionAllocator(lambda size, device: 1, lambda pointer, device: None)
    device.cupy.cuda.set_allocator(chosen.malloc)
    assert not device_allocator.share_with_torch()
    assert device.current == chosen.malloc


def test_without_a_device_nothing_changes(device, monkeypatch):
    before = device.current
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert not device_allocator.share_with_torch()
    assert device.current is before
