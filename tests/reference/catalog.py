"""The catalog of the reference implementation: aspects by URN, and the registry for the key fields of URNs.

Must not know GraphQL. The data are the server's replies to `GET /entitiesV2/{urn}`.
"""

import json
from pathlib import Path


class Catalog:
    def __init__(self, registry: Path, data: Path):
        model = json.loads(registry.read_text(encoding="utf-8"))
        self.entity_types = model["entities"]
        self.aspect_records = {name: aspect["record"] for name, aspect in model["aspects"].items()}
        self.records = model["records"]
        replies = json.loads(data.read_text(encoding="utf-8"))
        self.entities = {urn: reply["aspects"] for urn, reply in replies.items()}
        self._edges = {}

    def exists(self, urn: str) -> bool:
        return urn in self.entities

    def aspects(self, urn: str) -> dict:
        """All aspects of an entity, with their metadata."""
        return self.entities.get(urn, {})

    def aspect(self, urn: str, name: str):
        """The value of an aspect, or None."""
        stored = self.aspects(urn).get(name)
        return None if stored is None else stored["value"]

    def key_part(self, urn: str, name: str, entity_type: str):
        """A part of the URN by the name of the key field, or None."""
        spec = self.entity_types.get(entity_type)
        if spec is None or name not in spec["keyFields"]:
            return None
        index = spec["keyFields"].index(name)
        parts = key_parts(urn)
        return parts[index] if index < len(parts) else None

    def edges(self, urn: str):
        """The outgoing relationships of an entity: sorted, distinct (relationship, destination, aspect) tuples."""
        if urn in self._edges:
            return self._edges[urn]
        found = set()
        for name, stored in self.aspects(urn).items():
            record = self.aspect_records.get(name)
            for relationship, destination in self._edges_of_record(record, stored["value"]):
                found.add((relationship, destination, name))
        self._edges[urn] = sorted(found)
        return self._edges[urn]

    def _edges_of_record(self, record, value):
        fields = self.records.get(record)
        if fields is None or not isinstance(value, dict):
            return
        for name, field in fields.items():
            inner = value.get(name)
            if inner is None or not isinstance(field, dict):
                continue
            relationship = field.get("relationship")
            if relationship is not None:
                by_path = {"": relationship} if "name" in relationship else relationship
                for path, named in by_path.items():
                    for destination in at_pattern(inner, path):
                        if isinstance(destination, str):
                            yield named["name"], destination
                # This annotation overrides those of nested records.
                continue
            yield from self._edges_of_type(field.get("type"), inner)

    def _edges_of_type(self, schema, value):
        if isinstance(schema, str):
            yield from self._edges_of_record(schema, value)
        elif isinstance(schema, dict) and "array" in schema and isinstance(value, list):
            for element in value:
                yield from self._edges_of_type(schema["array"], element)
        elif isinstance(schema, dict) and "map" in schema and isinstance(value, dict):
            for element in value.values():
                yield from self._edges_of_type(schema["map"], element)
        elif isinstance(schema, (dict, list)) and isinstance(value, dict) and len(value) == 1:
            # A union is an object with one member: the name of the record.
            [(member, inner)] = value.items()
            yield from self._edges_of_record(member, inner)


def entity_type(urn: str):
    """The entity type of a URN, or None if the text is not a URN."""
    parts = urn.split(":", 3)
    return parts[2] if len(parts) == 4 and parts[0] == "urn" else None


def key_parts(urn: str) -> list:
    """The parts of the key: those in the outer parentheses, or the whole key."""
    rest = urn.split(":", 3)[3]
    if not (rest.startswith("(") and rest.endswith(")")):
        return [rest]
    parts, depth, current = [], 0, ""
    for character in rest[1:-1]:
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
            continue
        depth += {"(": 1, ")": -1}.get(character, 0)
        current += character
    return [*parts, current]


def at_pattern(value, pattern: str):
    """All values at a path such as `/*/destination`, where `*` matches every element or member."""
    values = [value]
    for step in [step for step in pattern.split("/") if step]:
        following = []
        for current in values:
            if isinstance(current, list):
                following += current if step == "*" else [e.get(step) for e in current if isinstance(e, dict)]
            elif isinstance(current, dict):
                following += current.values() if step == "*" else [current.get(step)]
        values = following
    return values
