"""Writes docs/numpy_coverage.md: for every public NumPy name, whether tnp compiles it. Run by ``make docs``.

*Native*: defined in the NumPy language (``tnp.lang.numpy``). *While tracing*: depends on shapes and dtypes only, and is
evaluated while tracing. *Each call*: draws random numbers at its place in the program, at each call. *Opaque*: runs as
the NumPy function itself, inside the program; the OpInfo family ``opaque`` tests each. *Unsupported*: the call runs
eagerly (with ``strict=True``, it raises), for the reason given.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tnp.capture.libraries.numpy.array_attributes import ARRAY_ATTRIBUTES, ARRAY_METHODS
from tnp.capture.libraries.numpy.dtype_queries import ANSWERS, BY_KIND
from tnp.capture.tracing.traced_values import TracedArray
from tnp.lang.numpy.registry import by_id, language, symbol_of
from tnp.testing import opinfos

UNSUPPORTED = {
    "reads or writes files, buffers or text": (
        "frombuffer fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed "
        "ndarray.tofile ndarray.dump ndarray.dumps ndarray.tobytes ndarray.tostring"
    ),
    "returns text": (
        "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific "
        "typename datetime_as_string"
    ),
    "calls a Python function on elements or slices": "apply_along_axis apply_over_axes frompyfunc fromfunction fromiter mask_indices piecewise",
    "handles dates, which tnp does not compile": "busday_count busday_offset is_busday datetime_data isnat",
    "shows or changes NumPy's settings": (
        "get_include get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions setbufsize seterr "
        "seterrcall show_config show_runtime test"
    ),
    "makes a subclass of ndarray": "asmatrix bmat",
    "iterates in Python": "nested_iters iterable",
    "returns a view or a copy, depending on values or flags": "asarray_chkfinite require real_if_close trim_zeros",
    "computes no array": "einsum_path mintypecode",
    "changes the array's memory or dtype": (
        "ndarray.resize ndarray.setflags ndarray.setfield ndarray.getfield ndarray.byteswap"
    ),
    "was removed, and raises": "ndarray.itemset ndarray.newbyteorder ndarray.ptp",
    "is deprecated, and warns at each call": "row_stack",
    "exposes memory": "isfortran ndarray.base ndarray.ctypes ndarray.data ndarray.flags ndarray.to_device ndarray.device",
}
REASONS = {name: reason for reason, names in UNSUPPORTED.items() for name in names.split()}


def public_names() -> Iterator[tuple[str, str, object]]:
    """(section, name below numpy, object) of every public function, ufunc and ndarray attribute."""
    for section, namespace in (
        ("numpy", np),
        ("numpy.linalg", np.linalg),
        ("numpy.fft", np.fft),
        ("numpy.random", np.random),
    ):
        prefix = "" if namespace is np else section.removeprefix("numpy.") + "."
        for name in sorted(n for n in namespace.__all__ if not n.startswith("_")):
            found = getattr(namespace, name, None)
            if callable(found) and not isinstance(found, (type, types.ModuleType)):
                yield section, prefix + name, found
    for name in sorted(n for n in dir(np.ndarray) if not n.startswith("_")):
        yield "numpy.ndarray", f"ndarray.{name}", getattr(np.ndarray, name)


OPAQUE = {info.name for info in opinfos.family("opaque")}
#: functions of dtypes and shapes that take no arrays
_PLAIN = frozenset(("broadcast_shapes", "isdtype", "issubdtype", "promote_types"))


def known_to_traced_arrays(name: str) -> bool:
    """Whether capture itself implements an attribute of arrays, without the language."""
    return name in vars(TracedArray) or name in ARRAY_ATTRIBUTES or name in ARRAY_METHODS


def status(name: str, found: object) -> tuple[str, str]:
    """The status of a name, and for an unsupported one the reason."""
    if name in REASONS:
        return "unsupported", REASONS[name]
    if name.startswith("ndarray."):
        short = name.removeprefix("ndarray.")
        native = short in language.methods or short in language.properties or known_to_traced_arrays(short)
        return ("native", "") if native else ("unsupported", "not compiled yet")
    if f"numpy.{name}" in by_id or symbol_of(found) is not None:
        return "native", ""
    if found in ANSWERS or found in BY_KIND or name in _PLAIN:
        return "while tracing", ""
    if name.startswith("random."):
        return "each call", ""
    return ("opaque", "") if name in OPAQUE else ("unsupported", "not compiled yet")


def page() -> str:
    """The page."""
    rows = [(section, name, *status(name, found)) for section, name, found in public_names()]
    counts = Counter(s for section, _, s, _ in rows if section != "numpy.ndarray")
    lines = ["# NumPy coverage", "", f"Generated by `make docs` from the registry, for NumPy {np.__version__}.", ""]
    lines += [line.strip() for line in __doc__.split("\n\n", 1)[1].strip().splitlines()]
    lines += ["", "Functions and ufuncs: " + ", ".join(f"{n} {s}" for s, n in counts.most_common()) + "."]
    for section in dict.fromkeys(r[0] for r in rows):
        lines += ["", f"## {section}", "", "| name | | |", "| --- | --- | --- |"]
        lines += [
            f"| `{name.rpartition('.')[2]}` | {s} | {reason} |" for own, name, s, reason in rows if own == section
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "numpy_coverage.md").write_text(page())
