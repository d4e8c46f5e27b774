"""The marked blocks of the documents, which tests run."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^```([^\n`]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    kind: str
    text: str


def blocks(path: Path) -> list[Block]:
    """Returns the blocks for the client in a document, and what they print."""
    found = [Block(*found.groups()) for found in _BLOCK.finditer(path.read_text())]
    return [block for block in found if re.search(r" (client|printed)\b", block.kind)]


def file_for_clients(name: str) -> str:
    """Returns the text of a file in docs/CLIENTS.md."""
    (text,) = [block.text for block in blocks(ROOT / "docs" / "CLIENTS.md") if block.kind.endswith(f" client {name}")]
    return text
