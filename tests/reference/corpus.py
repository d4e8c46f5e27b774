"""Reads the written documents.

A file holds many documents. Each begins with a line `### name` and may go on with lines `#: variables {…}` and
`#: operationName X`; all of them are comments to GraphQL, so a document is sent as it stands in the file.
"""

import json
from pathlib import Path


def documents(directory: Path):
    """Yields (name, request) for every document of every file, in the order of the files' names."""
    seen = set()
    for path in sorted(directory.glob("*.graphql")):
        text = path.read_text(encoding="utf-8")
        for part in ("\n" + text).split("\n### ")[1:]:
            title, _, query = part.partition("\n")
            name = f"{path.stem}: {title.strip()}"
            if name in seen:
                raise ValueError(f"two documents are called {name!r}")
            seen.add(name)
            request = {"query": query}
            for line in query.splitlines():
                if line.startswith("#: variables "):
                    request["variables"] = json.loads(line.removeprefix("#: variables "))
                if line.startswith("#: operationName "):
                    request["operationName"] = line.removeprefix("#: operationName ").strip()
            yield name, request
