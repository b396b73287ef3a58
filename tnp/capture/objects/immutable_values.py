"""Values of Python's standard library that never change: dates, times, paths, UUIDs; and which of their functions give the same at each call.

Dates and times that read a clock, the time zone of the computer, or a time zone written by the user are not among these.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from tnp.capture.rewrite.code_origin import is_library_class

__all__ = ["is_dated", "is_immutable", "is_pure_function", "same_dated"]

#: by module, kinds of values that never change, if it is loaded
_KINDS = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "pathlib": ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath"),
    "uuid": ("UUID",),
    "zoneinfo": ("ZoneInfo",),
}
#: by module, functions and classes that depend on nothing but what they are given, and all that the methods of its values are
_FUNCTIONS = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "pathlib": ("PurePath", "PurePosixPath", "PureWindowsPath", "Path", "PosixPath", "WindowsPath"),
    "uuid": ("UUID", "uuid3", "uuid5"),
    "calendar": ("isleap", "leapdays", "monthrange", "timegm", "weekday"),
}
#: methods of the values, and of their classes, that do so
_METHODS = {
    "datetime": frozenset(
        "combine ctime date dst fromisocalendar fromisoformat fromordinal isocalendar isoformat isoweekday replace time timetuple timetz "
        "toordinal total_seconds tzname utcfromtimestamp utcoffset utctimetuple weekday".split()
    ),
    "pathlib": frozenset(
        "as_posix is_absolute is_relative_to joinpath match relative_to with_name with_segments with_stem with_suffix".split()
    ),
    "uuid": frozenset(),
    "calendar": frozenset(),
}
#: methods of a time with a zone that read that of the computer if there is none
_OF_A_ZONE = frozenset(("timestamp", "astimezone"))
#: directives of ``strftime`` and ``strptime`` that no locale changes
_NUMERIC = frozenset("YmdHMSfjyzGuVUW%")
_WRITING = frozenset(("strftime", "strptime", "__format__"))


def is_immutable(x: Any) -> bool:
    """Whether ``x`` is such a value."""
    kind: Any = type(x)
    names = _KINDS.get(kind.__module__)
    if names is None:
        names = _KINDS.get("pathlib", ()) if str(kind.__module__).startswith("pathlib") else ()
    if kind.__name__ not in names or not _is_pythons(kind):
        return False
    return not is_dated(x) or _is_known_zone(x if kind.__name__ == "timezone" else x.tzinfo)


def _is_pythons(kind: type) -> bool:
    name = str(kind.__module__).partition(".")[0]
    return getattr(sys.modules.get(name), kind.__name__, None) is kind


def is_dated(x: Any) -> bool:
    """Whether equality of ``x`` is not all that there is to it: two times are equal if they are at the same moment in other zones."""
    kind: Any = type(x)
    return bool(kind.__module__ == "datetime" and kind.__name__ in ("datetime", "time", "timezone"))


def same_dated(found: Any, expected: Any) -> bool:
    """Whether two times, or zones, of one class are the same in every way."""
    if type(expected).__name__ == "timezone":
        return bool(found.__getinitargs__() == expected.__getinitargs__())
    a, b = found.tzinfo, expected.tzinfo
    if a is not b and not (type(a) is type(b) and is_dated(a) and same_dated(a, b)):
        return False
    return bool(found.replace(tzinfo=None) == expected.replace(tzinfo=None) and found.fold == expected.fold)


def _is_known_zone(zone: Any) -> bool:
    """Whether a time zone is none, one of Python's, or one of a library's, which never changes."""
    return zone is None or type(zone).__module__ in ("datetime", "zoneinfo") or is_library_class(type(zone))


def is_pure_function(f: Any, args: tuple[Any, ...] = ()) -> bool:
    """Whether ``f`` is a function of such values that gives the same for the same arguments, at each call."""
    owner = getattr(f, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module, name = str(getattr(f, "__module__", None)), getattr(f, "__name__", None)
        module = "pathlib" if module.startswith("pathlib.") else module
        return name in _FUNCTIONS.get(module, ()) and getattr(sys.modules.get(module), str(name), None) is f
    kind: Any = owner if isinstance(owner, type) else type(owner)
    module = str(kind.__module__).partition(".")[0]
    if module not in _METHODS or not _is_pythons(kind) or not (owner is kind or is_immutable(owner)):
        return False
    if f.__name__ in _METHODS[module]:
        return True
    if module != "datetime":
        return False
    if f.__name__ in _OF_A_ZONE:
        return getattr(owner, "tzinfo", None) is not None
    if f.__name__ == "fromtimestamp":
        return len(args) == 2 and args[1] is not None
    return f.__name__ in _WRITING and bool(args) and type(args[-1]) is str and _is_numeric(args[-1])


def _is_numeric(form: str) -> bool:
    directives = form.replace("%%", "").split("%")[1:]
    return all(d[:1] in _NUMERIC for d in directives)
