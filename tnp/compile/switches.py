"""The switches of all jitted functions: whether they run eagerly (``TNP_DISABLE``), and whether they look for NaNs (``TNP_DEBUG_NANS``).

While a switch is on, jitted functions have no programs to try first, so a call comes to where a new program would be compiled, and
looks at the switches there. So calls cost nothing more while they are off.
"""

from __future__ import annotations

from collections.abc import Callable

from tnp.runtime import environment

__all__ = ["Switches", "switches"]


class Switches:
    """``disabled``: functions run eagerly. ``nans``: operations are checked. ``listeners`` are called when one has changed."""

    def __init__(self) -> None:
        self.disabled = environment.is_on("TNP_DISABLE")
        self.nans = environment.is_on("TNP_DEBUG_NANS")
        self.listeners: list[Callable[[], None]] = []

    def turn(self, *, disabled: bool | None = None, nans: bool | None = None) -> None:
        """Turns switches on or off; ``None`` leaves one as it is."""
        self.disabled = self.disabled if disabled is None else disabled
        self.nans = self.nans if nans is None else nans
        for listener in self.listeners:
            listener()


switches = Switches()
