"""Prepares the documents for mdBook: README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ in one directory.

    book.py OUTPUT [--sources https://git.example.com/docent/blob/main]

The table of documents in README.md is the table of contents; the documents that CONTRIBUTING.md links follow it.
Links between documents are changed to their new places. Links to other files of the repository lead to `--sources`;
without it, only their text remains. A document that is in no list, and a link to nothing, are errors.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
# Images in HTML, too: README.md has pictures for light and dark themes.
FILE = re.compile(r'((?:src|srcset)=")([^"]+)(")|(!\[[^\]]*\]\()([^)\s]+)(\))')
CODE = re.compile(r"^ {0,3}(```+|~~~+)")


class BookError(Exception):
    """What has to be changed in the documents."""


def documents() -> list[str]:
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + [
        f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))
    ]


def chapter(document: str) -> str:
    """Returns the place of a document in the book."""
    # mdBook makes the first page of a README, but does not change the links to it.
    return "index.md" if document == "README.md" else document.removeprefix("docs/")


def linked_by(document: str, in_lines_with: str = "") -> list[str]:
    """Returns the documents of docs/ that a document links, in order and without repetitions."""
    lines = (line for line in (ROOT / document).read_text().splitlines() if line.startswith(in_lines_with))
    targets = (target.partition("#")[0] for line in lines for _, target in LINK.findall(line))
    return list(dict.fromkeys(it for it in targets if it.startswith("docs/") and it.endswith(".md")))


def summary() -> str:
    """Returns the table of contents."""
    chapters = linked_by("README.md", in_lines_with="| [docs/")
    for_developers = [it for it in linked_by("CONTRIBUTING.md") if it not in chapters]
    missing = set(documents()) - set(chapters) - set(for_developers) - {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    if missing:
        raise BookError(f"add these to the table of documents in README.md: {', '.join(sorted(missing))}")
    lines = ["# Summary", "", "[Docent](index.md)", ""]
    lines += [f"- {entry(it)}" for it in chapters]
    lines.append(f"- {entry('CONTRIBUTING.md')}")
    lines += [f"  - {entry(it)}" for it in for_developers]
    lines.append(f"- {entry('CHANGELOG.md')}")
    return "\n".join(lines) + "\n"


def entry(document: str) -> str:
    title = next(line for line in (ROOT / document).read_text().splitlines() if line.startswith("# "))
    return f"[{title.removeprefix('# ')}]({chapter(document)})"


def converted(document: str, sources: str | None) -> str:
    """Returns a document with its links changed."""
    base = PurePosixPath(document).parent
    known = set(documents())

    def link(match: re.Match) -> str:
        text, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match.group()
        path, _, anchor = target.partition("#")
        file = normalized(base / path)
        if file in known:
            return f"[{text}]({chapter(file)}{'#' + anchor if anchor else ''})"
        if not (ROOT / file).exists():
            raise BookError(f"{document} links {target}, which does not exist")
        return f"[{text}]({sources}/{file})" if sources else text

    def file(match: re.Match) -> str:
        before, target, after = [group for group in match.groups() if group is not None]
        return before + chapter(normalized(base / target)) + after

    lines, fence = [], None
    for line in (ROOT / document).read_text().splitlines():
        opening = CODE.match(line)
        if opening and fence is None:
            fence = opening.group(1)
        elif opening and line.strip() == fence:
            fence = None
        elif fence is None:
            line = FILE.sub(file, LINK.sub(link, line))
        lines.append(line)
    return "\n".join(lines) + "\n"


def normalized(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--sources")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.output, ignore_errors=True)
    arguments.output.mkdir(parents=True)
    try:
        (arguments.output / "SUMMARY.md").write_text(summary())
        for document in documents():
            (arguments.output / chapter(document)).write_text(converted(document, arguments.sources))
    except BookError as error:
        sys.exit(f"error: {error}")
    shutil.copytree(ROOT / "docs/images", arguments.output / "images")


if __name__ == "__main__":
    main()
