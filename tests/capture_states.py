"""Ways in which Python keeps state, for tests of the capture contract: how it is made, read, written, and changed from outside.

Each :class:`Way` is text: ``make`` gives the object ``o``; ``read`` is an expression of ``o`` that gives a number; ``write`` is a
statement of ``o`` and a number ``v`` that the program runs; ``change`` is a statement by which somebody else changes what is read;
``state`` is an expression that shows what there is, by default ``read``.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRELUDE", "WAYS", "Way"]

PRELUDE = """
import array, collections, contextlib, contextvars, copy, ctypes, dataclasses, decimal, enum, fractions, functools, itertools
import operator, os, pathlib, queue, random, re, sys, tempfile, threading, types, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
import numpy as np

class Plain:
    def __init__(self, v=2.0): self.v = v
class Slots:
    __slots__ = ("v", "__weakref__")
    def __init__(self, v=2.0): self.v = v
class Slots2(Plain): pass
class Getter:
    def __init__(self): self.v = 2.0
    def __getattr__(self, name): return self.__dict__["v"] if name == "other" else super().__getattribute__(name)
class LooksUp:
    def __init__(self): object.__setattr__(self, "v", 2.0)
    def __getattribute__(self, name): return object.__getattribute__(self, name)
class SetsItself:
    def __init__(self): self.v = 1.0
    def __setattr__(self, name, value): object.__setattr__(self, name, value * 2)
class Descriptor:
    def __init__(self): self.held = 2.0
    def __get__(self, instance, owner=None): return self if instance is None else self.held
    def __set__(self, instance, value): self.held = value
class ReadOnly:
    held = 2.0
    def __get__(self, instance, owner=None): return ReadOnly.held
class HasDescriptor:
    v = Descriptor()
    w = ReadOnly()
class Meta(type):
    @property
    def v(cls): return cls._v
    @v.setter
    def v(cls, value): cls._v = value
    def __getattr__(cls, name): return cls._v
class HasMeta(metaclass=Meta):
    _v = 2.0
class MetaOfItems(type):
    def __getitem__(cls, k): return cls._v
class HasItems(metaclass=MetaOfItems):
    _v = 2.0
class Single:
    _it = None
    def __new__(cls):
        if cls._it is None:
            cls._it = super().__new__(cls)
            cls._it.v = 2.0
        return cls._it
class ClassData:
    v = 2.0
    items = [2.0]
    table = {"v": 2.0}
class Operators:
    scale = [2.0]
    factor = 2.0
    def __init__(self): self.v = 2.0
    def __float__(self): return self.v
    def __add__(self, x): return x + self.v * GAIN["g"]
    def __call__(self): return self.v * GAIN["g"]
    def __getitem__(self, i): return self.v * GAIN["g"]
    def __len__(self): return int(self.v)
    def __contains__(self, x): return x == self.v
    def __iter__(self): return iter([self.v, GAIN["g"]])
    def __bool__(self): return self.v > 2.5
    def __eq__(self, x): return self.v == x
    def __hash__(self): return 7
    def __enter__(self): return self.v * GAIN["g"]
    def __exit__(self, *e): return None
    @property
    def p(self): return self.v * GAIN["g"]
    @classmethod
    def c(cls): return cls.factor
    @staticmethod
    def s(): return GAIN["g"]
GAIN = {"g": 2.0}
class DictChild(dict): pass
class ListChild(list): pass
class TupleChild(tuple): pass
class FloatChild(float): pass
class TextChild(str): pass
class IntChild(int): pass
class Cached:
    def __init__(self): self.raw = 2.0
    @functools.cached_property
    def v(self): return self.raw
class Colour(enum.Enum):
    RED = [2.0]
@dataclasses.dataclass
class Data:
    v: float = 2.0
    items: list = dataclasses.field(default_factory=lambda: [2.0])
@dataclasses.dataclass(frozen=True)
class Frozen:
    held: list
def plain(): return GAIN["g"]
plain.v = 2.0
HELD = [2.0]
@functools.lru_cache(None)
def remembers(): return HELD[0]
@functools.lru_cache(None)
def remembers_of(o): return o.v
@functools.singledispatch
def dispatched(x): return HELD[0]
def wraps(f):
    count = [2.0]
    @functools.wraps(f)
    def g(*a): return f(*a) * count[0]
    g.count = count
    return g
@wraps
def wrapped(): return 1.0
def counter():
    n = 2.0
    def get(): return n
    def put(v):
        nonlocal n
        n = v
    return get, put
def numbers():
    n = 1.0
    while True:
        n += 1.0
        yield n
def written_file(v=2.0):
    p = pathlib.Path(tempfile.mkdtemp()) / "f.txt"
    p.write_text(str(v))
    return p
def opened(p):
    with open(p) as f: return f.read()
def hand_made():
    m = types.ModuleType("hand_made")
    m.v = 2.0
    m.items = [2.0]
    return m
def lazy_module():
    m = types.ModuleType("lazy")
    m.held = [2.0]
    m.__getattr__ = lambda name: m.held[0]
    return m
class Parent:
    scale = [2.0]
    def get(self): return GAIN["g"]
class Child(Parent):
    def get(self): return super().get() + super().scale[0]
class Lazy:
    @functools.cached_property
    def v(self): return GAIN["g"]
    def add(self, a, b): return a + b * GAIN["g"]
    twice = functools.partialmethod(add, 1.0)
    @contextlib.contextmanager
    def scope(self): yield GAIN["g"]
    def entered(self):
        with self.scope() as v: return v
class Pair(namedtuple("Pair", "a b")):
    @property
    def total(self): return self.a * GAIN["g"]
    def __mul__(self, k): return self.b * GAIN["g"] * k
class Unit(float):
    def __add__(self, x): return float(self) + x * GAIN["g"]
class Weekday(enum.Enum):
    MON = 1
    @property
    def weight(self): return GAIN["g"]
    def __add__(self, x): return GAIN["g"] + x
@dataclasses.dataclass(frozen=True)
class Stuck:
    v: float = 2.0
    def put(self, v): object.__setattr__(self, "v", v)
@functools.total_ordering
class Ordered:
    def __eq__(self, x): return GAIN["g"] == x
    def __lt__(self, x): return GAIN["g"] < x
@contextlib.contextmanager
def scope(): yield GAIN["g"]
def within():
    with scope() as v: return v
def makes_class():
    class Made:
        v = GAIN["g"]
    return Made.v
def matches(o):
    match o > 1.0:
        case True: return GAIN["g"]
        case _: return 9.0
VAR = contextvars.ContextVar("VAR", default=2.0)
FIELDS = np.zeros(2, [("a", float)])
"""


@dataclass(frozen=True)
class Way:
    name: str
    make: str
    read: str
    change: str | None = None
    write: str | None = None
    state: str | None = None


def _way(
    name: str, make: str, read: str, change: str | None = None, write: str | None = None, state: str | None = None
) -> Way:
    return Way(name, make, read, change, write, state)


WAYS = (
    _way("SimpleNamespace", "types.SimpleNamespace(v=2.0)", "o.v", "o.v += 1", "o.v = v"),
    _way(
        "nested namespaces", "types.SimpleNamespace(a=types.SimpleNamespace(v=2.0))", "o.a.v", "o.a.v += 1", "o.a.v = v"
    ),
    _way(
        "namespace as dict",
        "types.SimpleNamespace(v=2.0)",
        "vars(o)['v']",
        "o.v += 1",
        "o.w = v",
        "sorted(vars(o).items())",
    ),
    _way("plain object", "Plain()", "o.v", "o.v += 1", "o.v = v"),
    _way("object by getattr", "Plain()", "getattr(o, 'v')", "o.v += 1", "setattr(o, 'v', v)"),
    _way(
        "object by hasattr",
        "Plain()",
        "1.0 if hasattr(o, 'w') else 2.0",
        "o.w = 1",
        "setattr(o, 'w', v)",
        "sorted(vars(o))",
    ),
    _way("object by attrgetter", "Plain()", "operator.attrgetter('v')(o)", "o.v += 1"),
    _way("object's __dict__", "Plain()", "o.__dict__['v']", "o.v += 1", "o.__dict__['v'] = v"),
    _way("deleted attribute", "Plain()", "getattr(o, 'v', 7.0)", "vars(o).pop('v', None)", "del o.v; o.v = v"),
    _way("slots", "Slots()", "o.v", "o.v += 1", "o.v = v"),
    _way("__getattr__", "Getter()", "o.other", "o.v += 1", "o.v = v"),
    _way("__getattribute__", "LooksUp()", "o.v", "o.v += 1", "o.v = v"),
    _way("__setattr__", "SetsItself()", "o.v", "o.v += 1", "o.v = v"),
    _way("descriptor", "HasDescriptor()", "o.v", "type(o).__dict__['v'].held += 1", "o.v = v"),
    _way("descriptor of the class", "HasDescriptor()", "o.w", "ReadOnly.held += 1"),
    _way("metaclass property", "HasMeta", "o.v", "o._v += 1", "o.v = v"),
    _way("metaclass getattr", "HasMeta", "o.anything", "o._v += 1"),
    _way("metaclass getitem", "HasItems", "o[0]", "o._v += 1"),
    _way("singleton by __new__", "Single()", "type(o)().v", "o.v += 1", "type(o)().v = v"),
    _way("singleton's class", "Single", "o().v", "o().v += 1", "o().v = v"),
    _way("class attribute", "ClassData", "o.v", "o.v += 1", "o.v = v"),
    _way("class attribute by an object", "ClassData()", "o.v", "ClassData.v += 1", "o.v = v", "(o.v, ClassData.v)"),
    _way("class attribute of a new object", "ClassData", "o().v", "o.v += 1"),
    _way("list of a class", "ClassData", "o.items[0]", "o.items[0] += 1", "o.items[0] = v"),
    _way("list of a new object's class", "ClassData", "o().items[0]", "o.items[0] += 1", "o().items[0] = v"),
    _way("dict of a class", "ClassData()", "o.table['v']", "o.table['v'] += 1", "o.table['v'] = v"),
    _way("class by getattr", "ClassData", "getattr(o, 'v')", "o.v += 1", "setattr(o, 'v', v)"),
    _way("class by vars", "ClassData", "vars(o)['v']", "o.v += 1"),
    _way("operator", "Operators()", "o + 1.0", "o.v += 1"),
    _way("operator's global", "Operators()", "o + 1.0", "GAIN['g'] += 1"),
    _way("call", "Operators()", "o()", "GAIN['g'] += 1"),
    _way("subscript", "Operators()", "o[0]", "GAIN['g'] += 1"),
    _way("length", "Operators()", "float(len(o))", "o.v += 1"),
    _way("membership", "Operators()", "2.0 if 2.0 in o else 3.0", "o.v += 1"),
    _way("iteration", "Operators()", "sum(list(o))", "GAIN['g'] += 1"),
    _way("iteration by for", "Operators()", "[y for y in o][1]", "GAIN['g'] += 1"),
    _way("truth", "Operators()", "2.0 if o else 3.0", "o.v += 1"),
    _way("equality", "Operators()", "2.0 if o == 2.0 else 3.0", "o.v += 1"),
    _way("float()", "Operators()", "float(o)", "o.v += 1"),
    _way("property", "Operators()", "o.p", "GAIN['g'] += 1"),
    _way("class method", "Operators()", "o.c()", "Operators.factor += 1"),
    _way("static method", "Operators()", "o.s()", "GAIN['g'] += 1"),
    _way("operators of a new object", "Operators", "o() + 1.0", "GAIN['g'] += 1"),
    _way("property of a new object", "Operators", "o().p", "GAIN['g'] += 1"),
    _way("call of a new object", "Operators", "o()()", "GAIN['g'] += 1"),
    _way(
        "cached property", "Cached()", "o.v", "o.__dict__.pop('v', None); o.raw += 1", None, "sorted(vars(o).items())"
    ),
    _way("dataclass", "Data()", "o.v + o.items[0]", "o.items[0] += 1", "o.items[0] = v"),
    _way("replaced dataclass", "Data()", "dataclasses.replace(o, v=1.0).items[0]", "o.items[0] += 1"),
    _way("frozen dataclass", "Frozen([2.0])", "o.held[0]", "o.held[0] += 1", "o.held[0] = v"),
    _way("enumeration", "Colour.RED", "o.value[0]", "o.value[0] += 1", "o.value[0] = v"),
    _way("list", "[2.0]", "o[0]", "o[0] += 1", "o[0] = v"),
    _way("length of a list", "[2.0]", "float(len(o))", "o.append(1.0)", "o.append(v)", "list(o)"),
    _way("nested list", "[[2.0]]", "o[0][0]", "o[0][0] += 1", "o[0][0] = v"),
    _way("dict", "{'v': 2.0}", "o['v']", "o['v'] += 1", "o['v'] = v"),
    _way("dict by get", "{'v': 2.0}", "o.get('w', 2.0)", "o['w'] = 5.0", "o.setdefault('w', v)", "sorted(o.items())"),
    _way("bound get", "{'v': 2.0}.get", "o('v')", "o.__self__['v'] += 1"),
    _way("bound append", "[2.0].append", "float(o(1.0) is None)", None, "o(v)", "list(o.__self__)"),
    _way("order of a dict", "{'a': 1.0, 'b': 2.0}", "next(iter(o.values()))", "o['a'] = o.pop('a') + 1"),
    _way("keys of a dict", "{'v': 2.0}.keys()", "float(len(o))", "o.mapping"),
    _way("tuple of a list", "([2.0],)", "o[0][0]", "o[0][0] += 1", "o[0][0] = v"),
    _way("set", "{1, 2}", "float(len(o))", "o.add(max(o) + 1)", "o.add(int(v))", "sorted(o)"),
    _way("set of floats", "{2.0}", "max(o)", "o.add(max(o) + 1)", "o.add(v)", "sorted(o)"),
    _way("set of objects", "{Plain()}", "next(iter(o)).v", "next(iter(o)).v += 1", "next(iter(o)).v = v"),
    _way("frozenset of objects", "frozenset([Plain()])", "next(iter(o)).v", "next(iter(o)).v += 1"),
    _way("deque", "deque([2.0])", "o[0]", "o[0] += 1", "o[0] = v"),
    _way("OrderedDict", "OrderedDict(v=2.0)", "o['v']", "o['v'] += 1", "o['v'] = v"),
    _way("defaultdict", "defaultdict(float, v=2.0)", "o['v']", "o['v'] += 1", "o['new'] += v", "sorted(o.items())"),
    _way("Counter", "Counter(v=2)", "float(o['v'])", "o['v'] += 1", "o['w'] += 1", "sorted(o.items())"),
    _way("ChainMap", "ChainMap({'v': 2.0})", "o['v']", "o['v'] += 1", "o['v'] = v"),
    _way("UserDict", "UserDict(v=2.0)", "o['v']", "o['v'] += 1", "o['v'] = v"),
    _way("UserList", "UserList([2.0])", "o[0]", "o[0] += 1", "o[0] = v"),
    _way("class of dicts", "DictChild(v=2.0)", "o['v']", "o['v'] += 1", "o['v'] = v"),
    _way("class of lists", "ListChild([2.0])", "o[0]", "o[0] += 1", "o[0] = v"),
    _way("class of tuples", "TupleChild([[2.0]])", "o[0][0]", "o[0][0] += 1", "o[0][0] = v"),
    _way(
        "class of numbers",
        "FloatChild(2.0)",
        "o.__dict__.get('v', 2.0)",
        "o.v = vars(o).get('v', 2.0) + 1",
        "o.v = v",
        "sorted(vars(o).items())",
    ),
    _way(
        "class of integers",
        "IntChild(2)",
        "o.__dict__.get('v', 2.0)",
        "o.v = vars(o).get('v', 2.0) + 1",
        "o.v = v",
        "sorted(vars(o).items())",
    ),
    _way(
        "class of texts",
        "TextChild('2.0')",
        "getattr(o, 'v', 2.0)",
        "o.v = vars(o).get('v', 2.0) + 1",
        "o.v = v",
        "sorted(vars(o).items())",
    ),
    _way("namedtuple of a dict", "namedtuple('N', 'a')({'v': 2.0})", "o.a['v']", "o.a['v'] += 1", "o.a['v'] = v"),
    _way("MappingProxyType", "types.MappingProxyType(GAIN)", "o['g']", "GAIN['g'] += 1"),
    _way("ContextVar", "VAR", "o.get()", "o.set(o.get() + 1)", "o.set(v)", "o.get()"),
    _way("weak reference", "(lambda k: (k, weakref.ref(k)))(Plain())", "o[1]().v", "o[0].v += 1", "o[1]().v = v"),
    _way("weak dictionary", "weakref.WeakValueDictionary(k=plain)", "o['k'].v", "plain.v += 1"),
    _way("lru_cache", "remembers", "o()", "HELD[0] += 1; o.cache_clear()", None, "o.cache_info().currsize"),
    _way("lru_cache not cleared", "remembers", "o()", "HELD[0] += 1"),
    _way("lru_cache of an object", "Plain()", "remembers_of(o)", "o.v += 1; remembers_of.cache_clear()"),
    _way("singledispatch", "dispatched", "o(1.0)", "HELD[0] += 1"),
    _way("decorated function", "wrapped", "o()", "o.count[0] += 1"),
    _way("function's attribute", "plain", "o.v", "o.v += 1", "o.v = v"),
    _way("function's global", "plain", "o()", "GAIN['g'] += 1"),
    _way("function's globals", "plain", "o.__globals__['GAIN']['g']", "GAIN['g'] += 1"),
    _way("function's default", "(lambda f: f)(lambda a=[2.0]: a[0])", "o()", "o.__defaults__[0][0] += 1"),
    _way("function's closure", "counter()", "o[0]()", "o[1](o[0]() + 1)", "o[1](v)"),
    _way("function given to map", "plain", "list(map(lambda i: o(), [1]))[0]", "GAIN['g'] += 1"),
    _way("function given to map directly", "(lambda: lambda i: GAIN['g'])()", "list(map(o, [1]))[0]", "GAIN['g'] += 1"),
    _way(
        "key function",
        "(lambda: lambda i: GAIN['g'] - i)()",
        "float(sorted([1, 2], key=o)[0]) + o(0)",
        "GAIN['g'] += 1",
    ),
    _way("partial", "functools.partial(operator.getitem, [2.0])", "o(0)", "o.args[0][0] += 1"),
    _way("bound method", "Operators().__call__", "o()", "o.__self__.v += 1"),
    _way("bound method's global", "Operators().__call__", "o()", "GAIN['g'] += 1"),
    _way("methodcaller", "Operators()", "operator.methodcaller('c')(o)", "Operators.factor += 1"),
    _way("globals()", "None", "globals()['GAIN']['g']", "GAIN['g'] += 1"),
    _way("locals()", "2.0", "locals()['o'] if 'o' in locals() else o"),
    _way("eval", "GAIN", "eval('GAIN')['g']", "GAIN['g'] += 1"),
    _way("hand-made module", "hand_made()", "o.v", "o.v += 1", "o.v = v"),
    _way("hand-made module's list", "hand_made()", "o.items[0]", "o.items[0] += 1", "o.items[0] = v"),
    _way("module's __getattr__", "lazy_module()", "o.anything", "o.held[0] += 1"),
    _way("module's __dict__", "hand_made()", "o.__dict__['v']", "o.v += 1"),
    _way(
        "sys.modules",
        "sys.modules.setdefault('hm', hand_made())",
        "sys.modules['hm'].v",
        "o.v += 1",
        "sys.modules['hm'].v = v",
    ),
    _way("import in the function", "sys.modules.setdefault('hm2', hand_made())", "__import__('hm2').v", "o.v += 1"),
    _way(
        "os.environ",
        "os.environ.setdefault('TNP_TEST_V', '2.0')",
        "float(os.environ['TNP_TEST_V'])",
        "os.environ['TNP_TEST_V'] = str(float(os.environ['TNP_TEST_V']) + 1)",
        "os.environ['TNP_TEST_V'] = str(v)",
        "os.environ['TNP_TEST_V']",
    ),
    _way(
        "os.getenv",
        "os.environ.setdefault('TNP_TEST_W', '2.0')",
        "float(os.getenv('TNP_TEST_W'))",
        "os.environ['TNP_TEST_W'] = str(float(os.environ['TNP_TEST_W']) + 1)",
    ),
    _way("environ as an object", "os.environ", "float(o.get('TNP_TEST_X', '2.0'))", "o['TNP_TEST_X'] = '3.0'"),
    _way("sys.argv", "sys.argv", "float(len(sys.argv))", "sys.argv.append('x')", None, "len(o)"),
    _way(
        "file by Path",
        "written_file()",
        "float(o.read_text())",
        "o.write_text(str(float(o.read_text()) + 1))",
        "o.write_text(str(v))",
        "o.read_text()",
    ),
    _way("file by open", "written_file()", "float(opened(o))", "o.write_text(str(float(o.read_text()) + 1))"),
    _way(
        "file by genfromtxt", "written_file()", "float(np.genfromtxt(o))", "o.write_text(str(float(o.read_text()) + 1))"
    ),
    _way("file by loadtxt", "written_file()", "float(np.loadtxt(o))", "o.write_text(str(float(o.read_text()) + 1))"),
    _way("a file's existence", "written_file()", "2.0 if o.exists() else 3.0", "o.unlink(missing_ok=True)"),
    _way(
        "decimal context",
        "decimal.Decimal(2)",
        "float(decimal.Decimal(1) / decimal.Decimal(3) * o)",
        "decimal.getcontext().prec = 3",
        None,
        "decimal.getcontext().prec",
    ),
    _way("Decimal", "decimal.Decimal('2.0')", "float(o + 1)"),
    _way("Fraction", "fractions.Fraction(1, 3)", "float(o + 1)"),
    _way("array.array", "array.array('d', [2.0])", "o[0]", "o[0] += 1", "o[0] = v"),
    _way("bytearray", "bytearray(b'23')", "float(o[0])", "o[0] += 1", "o[0] = int(v)"),
    _way("memoryview", "memoryview(bytearray(b'23'))", "float(o[0])", "o[0] += 1", "o[0] = int(v)"),
    _way("ctypes", "ctypes.c_double(2.0)", "o.value", "o.value += 1", "o.value = v"),
    _way("iterator", "iter([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])", "next(o)", None, None, "None"),
    _way("itertools.count", "itertools.count(2)", "float(next(o))", None, None, "None"),
    _way("generator", "numbers()", "next(o)", None, None, "None"),
    _way("random.Random", "random.Random(0)", "o.random()", None, None, "o.getstate()[1][:3]"),
    _way("random module", "random.seed(3)", "random.random()", None, None, "random.getstate()[1][:3]"),
    _way("queue", "queue.Queue()", "float(o.qsize())", "o.put(1)", "o.put(v)", "o.qsize()"),
    _way(
        "threading.local", "(lambda l: (setattr(l, 'v', 2.0), l)[1])(threading.local())", "o.v", "o.v += 1", "o.v = v"
    ),
    _way("exception", "ValueError([2.0])", "o.args[0][0]", "o.args[0][0] += 1", "o.args[0][0] = v"),
    _way("slice", "slice(0, 2)", "float(o.stop)"),
    _way("compiled pattern", "re.compile('a+')", "float(len(o.match('aaa').group()))"),
    _way("np.poly1d", "np.poly1d([2.0, 1.0])", "float(o(1.0))", "o.coeffs[0] += 1"),
    _way("np.vectorize", "np.vectorize(lambda i: GAIN['g'] * i)", "float(o(1.0))", "GAIN['g'] += 1"),
    _way("np.frompyfunc", "np.frompyfunc(lambda i: GAIN['g'] * i, 1, 1)", "float(o(1.0))", "GAIN['g'] += 1"),
    _way("np.nditer", "np.array([2.0])", "float([float(y) for y in np.nditer(o)][0])", "o[0] += 1"),
    _way(
        "np.geterr",
        "None",
        "2.0 if np.geterr()['divide'] == 'ignore' else 3.0",
        "np.seterr(divide='ignore')",
        None,
        "np.geterr()['divide']",
    ),
    _way(
        "print options",
        "None",
        "float(np.get_printoptions()['precision'])",
        "np.set_printoptions(precision=3)",
        None,
        "np.get_printoptions()['precision']",
    ),
    _way("array of objects", "np.array([2.0, None], object)", "float(o[0])", "o[0] += 1", "o[0] = v"),
    _way("structured array", "FIELDS", "float(o['a'][0])", "o['a'][0] += 1", "o['a'][0] = v"),
    _way("array of texts", "np.array(['2.0'])", "float(o[0])", "o[0] = '3.0'", "o[0] = str(v)[:3]"),
    _way("array of dates", "np.array(['2020-01-02'], 'M8[D]')", "float(o.astype(int)[0])", "o[:] = o + 1"),
    _way(
        "masked array",
        "np.ma.array([2.0, 3.0], mask=[False, True])",
        "float(o.sum())",
        "o[0] += 1",
        "o[0] = v",
        "float(o.sum())",
    ),
    _way("matrix", "np.asmatrix([[2.0]])", "float(o[0, 0])", "o[0, 0] += 1", "o[0, 0] = v"),
    _way("longdouble", "np.array([2.0], np.longdouble)", "float(o[0])", "o[0] += 1", "o[0] = v"),
    _way("array", "np.array([2.0])", "o[0]", "o[0] += 1", "o[0] = v"),
    _way(
        "array's flags",
        "np.array([2.0])",
        "2.0 if o.flags.writeable else 3.0",
        "o.flags.writeable = not o.flags.writeable",
    ),
    _way(
        "random generator",
        "np.random.default_rng(0)",
        "o.random()",
        None,
        None,
        "o.bit_generator.state['state']['state']",
    ),
    _way("module's array", "hand_made()", "np.ones(1)[0] * o.v", "o.v += 1"),
    _way("object as a key", "Plain()", "{o: 2.0}.get(o, 3.0)"),
    _way("dict by an object", "(lambda k: (k, {k: 2.0}))(Plain())", "o[1][o[0]]", "o[1][o[0]] += 1"),
    _way("hash of an object", "Operators()", "float(hash(o))"),
    _way("identity of objects", "(lambda k: [k, k])(Plain())", "2.0 if o[0] is o[1] else 3.0", "o[1] = Plain()"),
    _way("identity of lists", "(lambda k: [k, k])([1.0])", "2.0 if o[0] is o[1] else 3.0", "o[1] = [1.0]"),
    _way("identity of arrays", "(lambda k: [k, k])(np.ones(1))", "2.0 if o[0] is o[1] else 3.0", "o[1] = np.ones(1)"),
    _way("another object later", "[Plain(), Plain()]", "2.0 if o[0] is o[1] else 3.0", "o[1] = o[0]"),
    _way("None later", "[None]", "2.0 if o[0] is None else 3.0", "o[0] = 1"),
    _way("super", "Child()", "o.get()", "GAIN['g'] += 1"),
    _way("data by super", "Child()", "o.get()", "Parent.scale[0] += 1"),
    _way(
        "global of a cached property",
        "Lazy()",
        "o.v",
        "GAIN['g'] += 1; vars(o).pop('v', None)",
        None,
        "sorted(vars(o))",
    ),
    _way("partial method", "Lazy()", "o.twice(1.0)", "GAIN['g'] += 1"),
    _way("context manager", "within", "o()", "GAIN['g'] += 1"),
    _way("context manager of an object", "Lazy()", "o.entered()", "GAIN['g'] += 1"),
    _way("property of a named tuple", "Pair(2.0, 3.0)", "o.total", "GAIN['g'] += 1"),
    _way("operator of a named tuple", "Pair(2.0, 3.0)", "o * 2.0", "GAIN['g'] += 1"),
    _way("operator of a class of numbers", "Unit(2.0)", "o + 2.0", "GAIN['g'] += 1"),
    _way("a new number of a class", "Unit", "o(2.0) + 2.0", "GAIN['g'] += 1"),
    _way("property of an enumeration", "Weekday.MON", "o.weight", "GAIN['g'] += 1"),
    _way("operator of an enumeration", "Weekday.MON", "o + 1.0", "GAIN['g'] += 1"),
    _way("object.__setattr__", "Stuck()", "o.v", "object.__setattr__(o, 'v', o.v + 1)", "o.put(v)"),
    _way("object.__getattribute__", "Plain()", "object.__getattribute__(o, 'v')", "o.v += 1"),
    _way("total ordering", "Ordered()", "2.0 if o >= 3.0 else 3.0", "GAIN['g'] += 1"),
    _way("class statement", "makes_class", "o()", "GAIN['g'] += 1"),
    _way("match", "2.0", "matches(o)", "GAIN['g'] += 1"),
    _way(
        "assigned class",
        "Plain()",
        "float(type(o) is Slots2)",
        "o.__class__ = Slots2",
        "o.__class__ = Slots2",
        "type(o).__name__",
    ),
    _way("default factory", "defaultdict(plain)", "o['new']", "GAIN['g'] += 1; o.clear()", None, "sorted(o)"),
    _way("pickled state", "Plain()", "copy.copy(o).v", "o.v += 1"),
    _way("deep copy", "Data()", "copy.deepcopy(o).items[0]", "o.items[0] += 1"),
    _way("asdict", "Data()", "dataclasses.asdict(o)['items'][0]", "o.items[0] += 1"),
    _way("builtins", "None", "GAIN_IN_BUILTINS if hasattr(__builtins__, 'GAIN_IN_BUILTINS') else 2.0"),
)
