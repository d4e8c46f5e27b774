"""Reads the hand-written documents.

A file has many documents. Each starts with a line `### name`, optionally followed by lines `#: variables {…}` and
`#: operationName X`. These lines are GraphQL comments, so documents are sent unchanged.
"""

import json
from pathlib import Path


def documents(directory: Path):
    """Yields (name, request) for every document, in the order of the file names."""
    seen = set()
    for path in sorted(directory.glob("*.graphql")):
        text = path.read_text(encoding="utf-8")
        for part in ("\n" + text).split("\n### ")[1:]:
            title, _, query = part.partition("\n")
            name = f"{path.stem}: {title.strip()}"
            if name in seen:
                raise ValueError(f"duplicate document name {name!r}")
            seen.add(name)
            request = {"query": query}
            for line in query.splitlines():
                if line.startswith("#: variables "):
                    request["variables"] = json.loads(line.removeprefix("#: variables "))
                if line.startswith("#: operationName "):
                    request["operationName"] = line.removeprefix("#: operationName ").strip()
            yield name, request
