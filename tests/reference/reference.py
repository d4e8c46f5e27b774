"""Executes GraphQL documents with graphql-core, with the schema and the data of the server.

tests/tests/reference.rs compares the replies of the server with these. Prints one JSON object per document: `name`,
`request`, `reply` (`data`, `errors`) and `rejected` (whether nothing was executed).
"""

import argparse
import json
import sys
from pathlib import Path

from graphql import FieldNode, GraphQLError, Visitor, build_schema, execute_sync, get_location, parse, validate, visit

from catalog import Catalog
from corpus import documents
from generate import generate
from resolvers import RESOLVERS, Roots
from sources import Sources


def load_schema(directory: Path, catalog: Catalog):
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.graphql")))
    schema = build_schema(text)
    # Newer than the edition of the specification that the server implements.
    schema.directives = tuple(directive for directive in schema.directives if directive.name != "oneOf")
    sources = Sources(schema, catalog, RESOLVERS)
    roots = Roots(sources, catalog)
    long = schema.get_type("Long")
    long.parse_value = parse_long
    long.parse_literal = lambda node, variables=None: parse_long(getattr(node, "value", None))
    return schema, sources, roots


def parse_long(value):
    if isinstance(value, bool):
        raise GraphQLError("a Boolean is not a Long")
    try:
        number = int(value)
    except (TypeError, ValueError) as error:
        raise GraphQLError(f"{value!r} is not a Long") from error
    if number != (float(value) if isinstance(value, float) else number) or not -(2**63) <= number < 2**63:
        raise GraphQLError(f"{value!r} is not a Long")
    return number


class Reference:
    def __init__(self, schema, sources, roots):
        self.schema = schema
        self.sources = sources
        self.roots = roots

    def resolve(self, source, info, **arguments):
        if info.parent_type is self.schema.query_type:
            return self.roots.resolve(source, info, **arguments)
        return self.sources.resolve(source, info, **arguments)

    def execute(self, request: dict) -> dict:
        """The reply, and whether the request was rejected before execution."""
        try:
            document = parse(request["query"])
        except GraphQLError as error:
            return rejection([error])
        errors = validate(self.schema, document)
        if errors:
            return rejection(errors)
        result = execute_sync(
            self.schema,
            document,
            variable_values=request.get("variables"),
            operation_name=request.get("operationName"),
            field_resolver=self.resolve,
            type_resolver=lambda parent, info, kind: parent.type_name,
        )
        errors = result.errors or []
        if result.data is None and any(error.path is None for error in errors):
            return rejection(errors)
        return {"rejected": False, "reply": {"data": result.data, "errors": [formatted(error, document) for error in errors]}}


def rejection(errors) -> dict:
    return {"rejected": True, "reply": {"data": None, "errors": [{"message": error.message} for error in errors]}}


def formatted(error: GraphQLError, document) -> dict:
    at = get_location(document.loc.source, field_around(document, error.nodes[0]).loc.start)
    return {
        "message": error.message,
        "path": error.path,
        "locations": [{"line": at.line, "column": at.column}],
    }


def field_around(document, node):
    """The field that a node is, or is part of.

    graphql-core reports all merged fields, or the invalid argument. The server reports the first field, which the
    specification allows too.
    """

    class Search(Visitor):
        found = node

        def enter_field(self, field: FieldNode, *_):
            if field.loc.start <= node.loc.start and node.loc.end <= field.loc.end:
                self.found = field

    search = Search()
    visit(document, search)
    return search.found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schema", type=Path, required=True, help="directory with the *.graphql files")
    parser.add_argument("--registry", type=Path, required=True, help="registry of the model")
    parser.add_argument("--data", type=Path, required=True, help="replies of GET /entitiesV2, by URN")
    parser.add_argument("--documents", type=Path, required=True, help="directory with the hand-written documents")
    parser.add_argument("--generate", type=int, default=150, help="number of documents to generate")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generator")
    options = parser.parse_args()

    catalog = Catalog(options.registry, options.data)
    reference = Reference(*load_schema(options.schema, catalog))
    requests = list(documents(options.documents))
    requests += generate(reference.schema, sorted(catalog.entities), options.generate, options.seed)
    for name, request in requests:
        print(json.dumps({"name": name, "request": request, **reference.execute(request)}, ensure_ascii=False))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main()
