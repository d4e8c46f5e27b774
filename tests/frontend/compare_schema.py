"""Prints what our GraphQL schema lacks of DataHub's: types, fields, arguments, members and values, and what differs in
type or deprecation.

    target/venv/bin/python tests/frontend/compare_schema.py CHECKOUT

CHECKOUT is a checkout of DataHub's repository.
"""

import sys
from pathlib import Path

from graphql import (
    DocumentNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLUnionType,
    TypeExtensionNode,
    build_ast_schema,
    concat_ast,
    extend_schema,
    parse,
)

from operations import our_schema

SCHEMA_FILES = "datahub-graphql-core/src/main/resources"


def datahub_schema(checkout):
    files = sorted(Path(checkout, SCHEMA_FILES).glob("*.graphql"))
    if not files:
        sys.exit(f"{checkout} has no schema under {SCHEMA_FILES}: is it a checkout of DataHub's repository?")
    definitions = concat_ast([parse(path.read_text(encoding="utf-8")) for path in files]).definitions
    extensions = [it for it in definitions if isinstance(it, TypeExtensionNode)]
    others = [it for it in definitions if not isinstance(it, TypeExtensionNode)]
    schema = build_ast_schema(DocumentNode(definitions=others), assume_valid=True, assume_valid_sdl=True)
    return extend_schema(schema, DocumentNode(definitions=extensions), assume_valid=True, assume_valid_sdl=True)


def is_deprecated(item):
    return item.deprecation_reason is not None


def compare_members(name, theirs, ours):
    """Fields of objects, interfaces and inputs, with their arguments."""
    for key, field in theirs.items():
        path = f"{name}.{key}"
        if key not in ours:
            yield f"missing: {path}"
            continue
        if str(field.type) != str(ours[key].type):
            yield f"type of {path}: {field.type} there, {ours[key].type} here"
        if is_deprecated(field) != is_deprecated(ours[key]):
            yield f"deprecation of {path}: {is_deprecated(field)} there"
        for argument, value in getattr(field, "args", {}).items():
            found = ours[key].args.get(argument)
            if found is None:
                yield f"missing: {path}({argument})"
            elif str(found.type) != str(value.type):
                yield f"type of {path}({argument}): {value.type} there, {found.type} here"


def compare_type(theirs, ours):
    if type(theirs) is not type(ours):
        yield f"kind of {theirs.name}: {type(theirs).__name__} there, {type(ours).__name__} here"
    elif isinstance(theirs, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
        yield from compare_members(theirs.name, theirs.fields, ours.fields)
        interfaces = {it.name for it in getattr(theirs, "interfaces", ())}
        for interface in sorted(interfaces - {it.name for it in getattr(ours, "interfaces", ())}):
            yield f"missing: {theirs.name} implements {interface}"
    elif isinstance(theirs, GraphQLEnumType):
        for value in theirs.values.keys() - ours.values.keys():
            yield f"missing: value {theirs.name}.{value}"
    elif isinstance(theirs, GraphQLUnionType):
        for member in sorted({it.name for it in theirs.types} - {it.name for it in ours.types}):
            yield f"missing: member {member} of {theirs.name}"


def compare(theirs, ours):
    for name, kind in sorted(theirs.type_map.items()):
        if name.startswith("__"):
            continue
        if name in ours.type_map:
            yield from compare_type(kind, ours.type_map[name])
        else:
            yield f"missing: type {name}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    differences = list(compare(datahub_schema(sys.argv[1]), our_schema()))
    print("\n".join(differences))
    print(f"{len(differences)} differences")


if __name__ == "__main__":
    main()
