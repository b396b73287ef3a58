"""What jitting changed: tests that fail only when jitted, how many ran compiled, and why the others ran eagerly."""

from __future__ import annotations

import collections
import re
from pathlib import Path
from typing import Any

_FINE = ("passed", "xfailed", "xpassed", "skipped")


def show(eager: dict[str, Any], jitted: dict[str, Any], differences: Path) -> None:
    """Prints it. ``differences`` has tests that fail on purpose, one a line, with a reason behind ``#``."""
    known = _known(differences)
    failed = {t: found for t, found in jitted.items() if _is_new(eager.get(t), found)}
    fails_eagerly = sum(found["outcome"] not in _FINE for t, found in eager.items())
    ran = [found for t, found in jitted.items() if found["outcome"] != "skipped"]
    paths = collections.Counter(found.get("path", "not called") for found in ran)
    print(f"{len(ran)} tests ran ({len(jitted) - len(ran)} skipped; {fails_eagerly} fail eagerly): {dict(paths)}")
    reasons = collections.Counter(reason_class(found["reason"]) for found in ran if found.get("path") == "eager")
    for reason, count in reasons.most_common():
        print(f"{count:7} {reason}")
    new = {t: found for t, found in failed.items() if not any(t.startswith(k) for k in known)}
    print(f"{len(failed)} fail only when jitted, {len(new)} of them not in {differences.name}")
    by_error = collections.defaultdict(list)
    for test, found in new.items():
        by_error[reason_class(found.get("error", found["outcome"]))].append(test)
    for error, tests in sorted(by_error.items(), key=lambda e: -len(e[1])):
        print(f"{len(tests):7} {error}", *[f"            {t}" for t in tests[:4]], sep="\n")


def _is_new(eager: Any, jitted: Any) -> bool:
    if eager is None or eager["outcome"] not in _FINE:
        return False
    return jitted["outcome"] not in _FINE or (eager["outcome"] != "xfailed" and jitted["outcome"] == "xfailed")


def _known(differences: Path) -> dict[str, str]:
    lines = differences.read_text().splitlines() if differences.exists() else []
    pairs = (line.partition("#")[::2] for line in lines if line.strip() and not line.startswith("#"))
    return {test.strip(): reason.strip() for test, reason in pairs}


def reason_class(reason: str) -> str:
    """A reason without what is of one test only: names, numbers, places."""
    reason = reason.split("\n")[0]
    reason = re.sub(r"^\S+ (runs|ran) eagerly: ", "", reason)
    reason = re.sub(r" ?\((at )?[^()]*:\d+ in .*$", "", reason)
    reason = re.sub(r"0x[0-9a-f]+", "0x…", reason)
    reason = re.sub(r"\b(argument|global|closure variable|captured) [\w.\[\]']+ (has|is) ", r"\1 … \2 ", reason)
    reason = re.sub(r"dtype .*(, which tnp does not compile|$).*", r"dtype …\1", reason)
    reason = re.sub(r"(a|an) [\w.]+, which tnp does not compile.*", r"a …, which tnp does not compile", reason)
    reason = re.sub(r"\d+", "N", reason)
    return reason[:150]
