"""Reads fields by the directives of the schema, independently of the server's code.

directives.graphql describes the directives. To support another one, add it to `first_source`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLError,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLUnionType,
    GraphQLInterfaceType,
    get_named_type,
    get_nullable_type,
)
from graphql.execution.values import get_directive_values

from catalog import Catalog, entity_type


@dataclass(frozen=True)
class ParentObject:
    """An entity (`value` is None), or a JSON value that belongs to one; `type_name` is its GraphQL type."""

    type_name: str
    owner: str | None
    value: Any = None


class Sources:
    def __init__(self, schema, catalog: Catalog, resolvers: dict):
        self.schema = schema
        self.catalog = catalog
        self.resolvers = resolvers
        self.type_of_entity = {}
        self.entity_of_type = {}
        self.variants = {}
        for name, kind in schema.type_map.items():
            if kind.ast_node is None:
                continue
            entity = self.directive("entity", kind.ast_node)
            if entity is not None:
                # A second type of an entity, such as Policy, is no possible type of an interface.
                known = schema.type_map.get(self.type_of_entity.get(entity["type"]))
                if known is None or (kind.interfaces and not known.interfaces):
                    self.type_of_entity[entity["type"]] = name
                self.entity_of_type[name] = entity["type"]
            variant = self.directive("variant", kind.ast_node)
            if variant is not None:
                self.variants[name] = variant["of"]
        self.enum_values = {
            name: self._stored_spellings(kind)
            for name, kind in schema.type_map.items()
            if isinstance(kind, GraphQLEnumType)
        }

    def directive(self, name: str, node):
        """The arguments of a directive, or None if it is missing."""
        return get_directive_values(self.schema.get_directive(name), node)

    def resolve(self, source, info, **arguments):
        """Resolves every field that is not a root field."""
        field = info.parent_type.fields[info.field_name]
        found = self.first_source(source, field, info.field_name, arguments)
        if found is not None and self.directive("entries", field.ast_node) is not None:
            found = [{"key": key, "value": value} for key, value in found.items()]
        return self.complete(field.type, found, source.owner)

    def first_source(self, parent: ParentObject, field, field_name: str, arguments: dict):
        node = field.ast_node
        names = {directive.name.value for directive in node.directives}
        owner, value = parent.owner, parent.value
        if "urn" in names:
            return owner
        if "entityType" in names:
            return self.enum_values["EntityType"].get(entity_type(owner), "OTHER")
        if "exists" in names:
            return self.catalog.exists(owner)
        if "resolve" in names:
            by = self.directive("resolve", node)["by"]
            return self.resolvers[by](self.catalog, parent, arguments)
        for repeated in [directive for directive in node.directives if directive.name.value == "aspect"]:
            aspect = get_directive_values(self.schema.get_directive("aspect"), only(repeated))
            found = first(self.catalog.aspect(owner, aspect["name"]), aspect.get("path"))
            if found is not None:
                return found
        path = self.directive("path", node)
        if path is not None:
            found = first(value, path["at"])
        elif names & {"aspect", "key", "compose"}:
            found = None
        else:
            found = first(value, [field_name])
        if found is None and "key" in names:
            kind = self.entity_of_type.get(parent.type_name, entity_type(owner))
            found = self.catalog.key_part(owner, self.directive("key", node)["part"], kind)
        if found is None and "compose" in names:
            found = self.compose(self.directive("compose", node)["text"], parent)
        if found is None and "default" in names:
            found = json.loads(self.directive("default", node)["value"])
        return found

    def compose(self, template: str, parent: ParentObject):
        missing = []

        def part(match):
            name = match.group(1)
            value = parent.owner if name == "urn" else member(parent.value, name)
            if value is None:
                missing.append(name)
            return str(value)

        text = re.sub(r"\{(\w+)\}", part, template)
        return None if missing else text

    def complete(self, kind, value, owner):
        """Converts JSON to the value that graphql-core expects for the type; None if it does not match."""
        required = isinstance(kind, GraphQLNonNull)
        kind = get_nullable_type(kind)
        if value is None:
            return None
        if isinstance(value, Exception):
            return value
        if isinstance(kind, GraphQLList):
            if not isinstance(value, list):
                raise GraphQLError("not a list")
            return [self.complete(kind.of_type, element, owner) for element in value]
        if isinstance(kind, GraphQLScalarType):
            return scalar(kind.name, value)
        if isinstance(kind, GraphQLEnumType):
            return self.enum_value(kind.name, value)
        return self.object(kind, value, owner, required)

    def enum_value(self, enum: str, value):
        if isinstance(value, dict):
            value = next(iter(value), None)
        return self.enum_values[enum].get(str(value))

    def object(self, kind, value, owner, required: bool):
        abstract = isinstance(kind, (GraphQLUnionType, GraphQLInterfaceType))
        possible = [t.name for t in self.schema.get_possible_types(kind)] if abstract else [kind.name]
        if isinstance(value, str):
            name = self.type_of_entity.get(entity_type(value))
            if name in possible:
                return ParentObject(name, value)
            if required and entity_type(value) is not None and not isinstance(kind, GraphQLInterfaceType):
                # Null is not allowed: a stub of the expected type, or of the first entity type of a union.
                for name in possible:
                    if name in self.entity_of_type:
                        return ParentObject(name, value)
            if abstract:
                return None
        if kind.name in self.type_of_entity.values():
            return None
        for name in possible:
            for variant in self.variants.get(name, []):
                if isinstance(value, dict) and value.get(variant) is not None:
                    return ParentObject(name, owner, value[variant])
        if abstract or kind.name in self.variants:
            return None
        return ParentObject(kind.name, owner, value)

    def _stored_spellings(self, enum) -> dict:
        spellings = {}
        for name, value in enum.values.items():
            if value.ast_node is None:
                continue
            variant = self.directive("variant", value.ast_node)
            entity = self.directive("entity", value.ast_node)
            for spelling in [name] if variant is None else variant["of"]:
                spellings[spelling] = name
            spellings.setdefault(name, name)
            if entity is not None:
                spellings[entity["type"]] = name
        return spellings


def only(directive):
    """A node with a single directive, for a repeatable directive."""

    class Node:
        directives = [directive]

    return Node


def member(value, name: str):
    return value.get(name) if isinstance(value, dict) else None


def first(value, alternatives):
    """The value at the first path that has one; without paths the value itself."""
    if alternatives is None:
        return value
    for path in alternatives:
        found = value
        for step in [step for step in path.split(".") if step]:
            if step.isdigit():
                index = int(step)
                found = found[index] if isinstance(found, list) and index < len(found) else None
            else:
                found = member(found, step)
        if found is not None:
            return found
    return None


def scalar(name: str, value):
    """Applies lossless conversions; everything else is an error, as in the result coercion of the specification."""
    flag = isinstance(value, bool)
    number = isinstance(value, (int, float)) and not flag
    if name in ("String", "ID"):
        if isinstance(value, str):
            return value
        if flag or number:
            return json.dumps(value)
    if name == "Boolean" and flag:
        return value
    if name == "Float" and number:
        return value
    if name in ("Int", "Long"):
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
            value, number = int(value), True
        limit = 2**31 if name == "Int" else 2**63
        if number and value == int(value) and -limit <= value < limit:
            return int(value)
    raise GraphQLError(f"{value!r} is not a {name}")
