"""The description on a package index: README.md, whose relative links an index cannot follow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = r"\((?!\w+:)([^)]+)\)"


def description(readme: str, source: str | None) -> str:
    """``readme`` with links to files under ``source``, the repository's address; without one, without links and pictures."""
    if source is not None:
        address = source.rstrip("/")
        readme = re.sub(rf"(!\[[^]]*\]){RELATIVE}", rf"\1({address}/raw/main/\2)", readme)
        return re.sub(rf"(?<!!)(\[[^]]*\]){RELATIVE}", rf"\1({address}/blob/main/\2)", readme)
    readme = re.sub(rf"!\[[^]]*\]{RELATIVE}\n*", "", readme)
    return re.sub(rf"\[([^]]*)\]{RELATIVE}", r"\1", readme)


class Readme(MetadataHookInterface):
    """Fills in ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by Hatch."""
        source = metadata.get("urls", {}).get("Source")
        text = description((Path(self.root) / "README.md").read_text(encoding="utf-8"), source)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
