"""Generates aspects from the schemas in the client, reproducibly for a seed.

This module knows schemas and URNs, and nothing of what a server does with an aspect.
"""

import json
import random

from datahub.metadata.schema_classes import ASPECT_NAME_MAP, KEY_ASPECTS
from datahub.metadata.urns import Urn

# Texts that are easily damaged: escapes, other scripts, leading and trailing spaces, JSON syntax.
TEXTS = [
    "plain",
    " spaces at both ends ",
    "line\nbreak\ttab",
    'quotes " and \\ backslash / slash',
    "Grüße, 数据 и данные",
    "🦉 outside of the basic plane, and a combining e\u0301",
    "<b>&amp;</b> {\"json\": null} ${variable}",
    "null",
    "0",
    "\u2028 separators \u241f \u0001",
]
LONGS = [0, 1, -1, 1794701076063, 2**53 + 1, 2**63 - 1, -(2**63)]
INTS = [0, 7, -1, 2**31 - 1, -(2**31)]
NUMBERS = [0.5, -1.25, 1e-7, 123456789.0, 0.1]
DEEPEST = 7


def entities_with(aspect: str) -> list[str]:
    """Returns the entity types that can have this aspect."""
    found = []
    for entity, key in KEY_ASPECTS.items():
        if aspect == key.ASPECT_NAME or aspect in key.ASPECT_INFO["entityAspects"]:
            found.append(entity)
    return sorted(found)


class Generator:
    """Generates values, reproducibly for a seed."""

    def __init__(self, seed: str):
        self._random = random.Random(seed)
        self._named = {}

    def aspect(self, name: str):
        """Returns an aspect as a client object."""
        kind = ASPECT_NAME_MAP[name]
        schema = json.loads(str(kind.RECORD_SCHEMA))
        self._remember(schema)
        value = self._value(schema, {}, 0, {})
        return kind.from_obj(value)

    def urn(self, entity: str, name: str) -> str:
        """Returns a URN of this type that contains the name, if the type allows it."""
        fields = json.loads(str(KEY_ASPECTS[entity].RECORD_SCHEMA))["fields"]
        parts = [self._key_part(field, name) for field in fields]
        return str(Urn(entity, parts))

    def _key_part(self, field: dict, name: str) -> str:
        kind = field["type"]
        if isinstance(kind, list):
            kind = next(one for one in kind if one != "null")
        if isinstance(kind, dict) and kind["type"] == "enum":
            return kind["symbols"][0]
        if "Urn" in field:
            return self._reference(field, name, _targets(field).get((), []))
        return name

    def _remember(self, schema) -> None:
        """Collects the named types: a schema defines each once and refers to it by name elsewhere."""
        if isinstance(schema, list):
            for member in schema:
                self._remember(member)
        elif isinstance(schema, dict):
            if "namespace" in schema:
                self._named[f"{schema['namespace']}.{schema['name']}"] = schema
            for inner in ("type", "items", "values"):
                self._remember(schema.get(inner))
            for field in schema.get("fields", []):
                self._remember(field["type"])

    def _reference(self, field: dict, name: str, allowed: list[str]) -> str:
        """Returns a valid URN for this field."""
        types = allowed or field.get("entityTypes") or []
        named = field.get("Urn", "").removesuffix("Urn")
        for entity in KEY_ASPECTS:
            if not types and entity.lower() == named.lower():
                types = [entity]
        # Not in the schema, but required by the client's URN classes.
        types = types or {"platform": ["dataPlatform"], "parent": ["dataset"]}.get(field["name"], [])
        return self.urn(types[0] if types else "corpuser", name)

    def _value(self, schema, field: dict, depth: int, targets: dict):
        """Generates one value; `targets` maps the paths of URNs in it to their entity types."""
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        if isinstance(schema, list):
            return self._union(schema, field, depth, targets)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind == "record":
            if any(one["name"] == "fieldDiscriminator" for one in schema["fields"]):
                return self._one_of(schema["fields"], depth)
            return {one["name"]: self._field(one, depth + 1, targets) for one in schema["fields"]}
        if kind == "array":
            below = _below(targets, "*")
            return [self._value(schema["items"], field, depth + 1, below) for _ in range(self._length(depth))]
        if kind == "map":
            keys = self._random.sample(TEXTS, self._length(depth))
            below = _below(targets, "*")
            return {key: self._value(schema["values"], field, depth + 1, below) for key in keys}
        if kind == "enum":
            return self._random.choice(schema["symbols"])
        if kind == "string":
            if "Urn" in field or () in targets:
                return self._reference(field, f"one{self._random.randrange(1000)}", targets.get((), []))
            return self._random.choice(TEXTS)
        if kind == "bytes":
            return "bytes \u0000\u00ff"
        if kind == "boolean":
            return self._random.random() < 0.5
        choices = {"int": INTS, "long": LONGS, "float": NUMBERS, "double": NUMBERS}
        if kind in choices:
            return self._random.choice(choices[kind])
        if kind == "null":
            return None
        raise AssertionError(f"values of {schema} cannot be made up")

    def _one_of(self, fields: list, depth: int):
        """Generates a union of named members, which the client's schema represents as a record with a discriminator."""
        chosen = self._random.choice([one for one in fields if one["name"] != "fieldDiscriminator"])
        (_, kind) = chosen["type"]
        value = {one["name"]: None for one in fields}
        return value | {chosen["name"]: self._value(kind, chosen, depth + 1, {}), "fieldDiscriminator": chosen["name"]}

    def _field(self, field: dict, depth: int, targets: dict):
        return self._value(field["type"], field, depth, _below(targets, field["name"]) | _targets(field))

    def _union(self, members: list, field: dict, depth: int, targets: dict):
        others = [member for member in members if member != "null"]
        if len(others) < len(members) and (depth > DEEPEST or self._random.random() < 0.25):
            return None
        chosen = self._random.choice(others)
        value = self._value(chosen, field, depth + 1, targets | _below(targets, self._name(chosen)))
        # The client's representation: a union member is wrapped in its name.
        return value if len(others) == 1 else {self._name(chosen): value}

    def _name(self, schema) -> str:
        if isinstance(schema, str):
            return schema
        return f"{schema['namespace']}.{schema['name']}" if "name" in schema else schema["type"]

    def _length(self, depth: int) -> int:
        return 0 if depth > DEEPEST else self._random.choice([0, 1, 2])


def _targets(field: dict) -> dict:
    """Returns the target types of a relationship by path below the field; `()` is the field itself."""
    annotation = field.get("Relationship") or {}
    if "entityTypes" in annotation:
        return {(): annotation["entityTypes"]}
    return {tuple(path.strip("/").split("/")): one["entityTypes"] for path, one in annotation.items()}


def _below(targets: dict, step: str) -> dict:
    """Returns the paths that start with this step, without it."""
    return {path[1:]: types for path, types in targets.items() if path and path[0] == step}
