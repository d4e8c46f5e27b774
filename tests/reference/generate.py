"""Generates valid documents for the schema. The same seed, schema and URNs give the same documents.

Documents with conflicting selections are discarded, using the validation of graphql-core.
"""

import random

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
    parse,
    print_ast,
    validate,
)

from catalog import entity_type

MAX_DEPTH = 6
# The reference has no callers.
EXCLUDED_FIELDS = {
    "privileges",
    "isAssignedToMe",
    "me",
    "listAccessTokens",
    "getAccessTokenMetadata",
    "numAssets",
}
# The reference has no search index, no lineage graph and no time series.
EXCLUDED_TYPES = {
    "AssertionRunEventsResult",
    "ChartStatsSummary",
    "DashboardStatsSummary",
    "DashboardUsageQueryResult",
    "DataFlowDataJobsRelationships",
    "DataHubConnectionDetails",
    "DataHubViewDefinition",
    "DataProcessInstanceResult",
    "DataProcessRunEvent",
    "DatasetProfile",
    "DatasetStatsSummary",
    "EntityIncidentsResult",
    "EntityLineageResult",
    "GlossaryNodeChildrenCount",
    "Health",
    "Operation",
    "OperationsQueryResult",
    "Post",
    "RelatedDocumentsResult",
    "ScrollResults",
    "SearchResults",
    "TimeseriesCapabilitiesResult",
    "UsageQueryResult",
    "VersionedDataset",
}
RELATIONSHIPS = ["OwnedBy", "IsPartOf", "DownstreamOf", "AssociatedWith", "TaggedWith", "IsMemberOfGroup", "TermedWith"]
# Root fields and the registry names of their entity types.
BY_URN = {
    "dataset": "dataset",
    "domain": "domain",
    "container": "container",
    "corpUser": "corpuser",
    "dataPlatform": "dataPlatform",
}


def generate(schema, urns: list, count: int, seed: int):
    """Returns (name, request) pairs."""
    generated = []
    attempt = 0
    while len(generated) < count:
        attempt += 1
        # Each document has its own generator, so that a change to one document does not affect the others.
        request = Document(schema, urns, random.Random(seed * 1_000_003 + attempt)).request()
        if not validate(schema, parse(request["query"])):
            generated.append((f"generated: {attempt}", request))
    return generated


class Document:
    def __init__(self, schema, urns: list, rng: random.Random):
        self.schema = schema
        self.urns = urns
        self.rng = rng
        self.fragments = []
        self.definitions = {}
        self.variables = {}
        self.names = 0
        # Approximate number of fields; short documents are easier to read when they fail.
        self.budget = rng.choice([8, 20, 45])

    def request(self) -> dict:
        roots = [self.root() for _ in range(self.rng.choice([1, 1, 1, 2, 3]))]
        body = " ".join(roots)
        if self.rng.random() < 0.2:
            body += " __typename"
        declared = ", ".join(f"${name}: {kind}" for name, kind in self.definitions.items())
        head = "query Generated" + (f"({declared})" if declared else "")
        query = " ".join([f"{head} {{ {body} }}", *self.fragments])
        # Usually formatted, so that locations are on several lines.
        if self.rng.random() < 0.8:
            query = print_ast(parse(query))
        request = {"query": query}
        if self.variables:
            request["variables"] = self.variables
        return request

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def urn(self, kind: str | None = None) -> str:
        candidates = [urn for urn in self.urns if kind is None or entity_type(urn) == kind]
        if kind is None:
            # All entity types are equally likely, however many entities they have.
            kind = self.rng.choice(sorted({entity_type(urn) for urn in candidates}))
            candidates = [urn for urn in candidates if entity_type(urn) == kind]
        urn = self.rng.choice(candidates)
        if self.rng.random() < 0.04:
            urn = urn.replace(",", ",missing-", 1) if "," in urn else urn + "-missing"
        return urn

    def variable(self, kind: str, value) -> str:
        name = self.name("v")
        self.definitions[name] = kind
        self.variables[name] = value
        return f"${name}"

    def flag(self, value: bool) -> str:
        """A variable for a condition."""
        name = "yes" if value else "no"
        self.definitions[name] = "Boolean!"
        self.variables[name] = value
        return f"${name}"

    def text(self, kind: str, value: str) -> str:
        return self.variable(kind, value) if self.rng.random() < 0.3 else f'"{value}"'

    def root(self) -> str:
        query = self.schema.query_type
        root = self.rng.choice([*BY_URN, "dataset", "dataset", "entity", "entity", "entities", "entities", "listDomains", "entityExists"])
        key = self.name("r") + ": " if self.rng.random() < 0.9 else ""
        field = query.fields[root]
        if root == "entityExists":
            return f"{self.name('r')}: entityExists(urn: {self.text('String!', self.urn())})"
        if root == "listDomains":
            parent = self.rng.choice(["", f"parentDomain: \"{self.urn('domain')}\" "])
            arguments = f"input: {{ {parent}start: {self.rng.randrange(3)} count: {self.rng.randrange(8)} }}"
        elif root == "entities":
            urns = [self.urn() for _ in range(self.rng.randrange(1, 6))]
            if self.rng.random() < 0.4:
                arguments = f"urns: {self.variable('[String!]!', urns)}"
            else:
                arguments = "urns: [" + ", ".join(f'"{urn}"' for urn in urns) + "]"
            if self.rng.random() < 0.3:
                arguments += f" checkForExistence: {self.rng.choice(['true', 'false', 'null'])}"
        elif root == "entity":
            arguments = f"urn: {self.text('String!', self.urn())}"
        else:
            arguments = f"urn: {self.text('String!', self.urn(BY_URN[root]))}"
        return f"{key}{root}({arguments}) {self.selection(get_named_type(field.type), 2)}"

    def selection(self, kind, depth: int) -> str:
        return "{ " + self.selections(kind, depth) + " }"

    def selections(self, kind, depth: int) -> str:
        parts = []
        if isinstance(kind, (GraphQLObjectType, GraphQLInterfaceType)):
            usable = [n for n, f in kind.fields.items() if self.is_included(n, f) and self.usable(f, depth)]
            count = self.rng.randrange(1, 7) if self.budget > 0 else 1
            for name in self.rng.sample(usable, min(len(usable), count)):
                self.budget -= 1
                parts.append(self.field(name, kind.fields[name], depth))
        if isinstance(kind, (GraphQLInterfaceType, GraphQLUnionType)):
            possible = sorted(t.name for t in self.schema.get_possible_types(kind))
            likely = [name for name in ("Dataset", "Domain", "CorpUser", "CorpGroup", "Container", "Tag") if name in possible]
            for _ in range(self.rng.randrange(1, 4) if self.budget > 0 else 0):
                parts.append(self.fragment(self.rng.choice(likely + possible), depth))
            others = [n for n in ("Entity", "BrowsableEntity", "EntityWithRelationships", "HasLogicalParent") if n != kind.name]
            if self.budget > 0 and self.rng.random() < 0.3 and isinstance(kind, GraphQLInterfaceType):
                parts.append(self.fragment(self.rng.choice(others), depth))
        elif self.budget > 0 and self.rng.random() < 0.25:
            parts.append(self.fragment(kind.name, depth))
        if self.rng.random() < 0.25 or not parts:
            parts.append("__typename" if self.rng.random() < 0.7 else f"{self.name('t')}: __typename")
        if parts and self.rng.random() < 0.15:
            # A repeated selection is merged.
            parts.append(self.rng.choice(parts))
        self.rng.shuffle(parts)
        return " ".join(parts)

    def is_included(self, name: str, field):
        return name not in EXCLUDED_FIELDS and get_named_type(field.type).name not in EXCLUDED_TYPES

    def usable(self, field, depth: int) -> bool:
        return is_leaf_type(get_named_type(field.type)) or (depth < MAX_DEPTH and self.budget > 0)

    def field(self, name: str, field, depth: int) -> str:
        arguments = self.arguments(field)
        # A field with arguments gets a unique alias, since it cannot be merged with others.
        alias = self.name("a") + ": " if arguments or self.rng.random() < 0.15 else ""
        text = f"{alias}{name}{arguments}{self.condition()}"
        kind = get_named_type(field.type)
        return text if is_leaf_type(kind) else f"{text} {self.selection(kind, depth + 1)}"

    def fragment(self, name: str, depth: int) -> str:
        body = self.selection(self.schema.get_type(name), depth)
        if self.rng.random() < 0.4:
            fragment = self.name("F")
            self.fragments.append(f"fragment {fragment} on {name} {body}")
            return f"...{fragment}{self.condition()}"
        return f"... on {name}{self.condition()} {body}"

    def condition(self) -> str:
        if self.rng.random() > 0.12:
            return ""
        text = ""
        for directive in self.rng.sample(["skip", "include"], self.rng.choice([1, 1, 2])):
            flag = self.rng.random() < 0.5
            value = self.flag(flag) if self.rng.random() < 0.5 else str(flag).lower()
            text += f" @{directive}(if: {value})"
        return text

    def arguments(self, field) -> str:
        arguments = []
        for name, argument in field.args.items():
            if isinstance(argument.type, GraphQLNonNull) or self.rng.random() < 0.3:
                value = self.value(name, argument.type)
                arguments.append(f"{name}: {self.literal(argument.type, value)}")
        return "(" + ", ".join(arguments) + ")" if arguments else ""

    def literal(self, kind, value) -> str:
        if self.rng.random() < 0.25:
            return self.variable(str(kind), value)
        return format_literal(kind, value)

    def value(self, name: str, kind):
        if isinstance(kind, GraphQLNonNull):
            return self.value(name, kind.of_type)
        if isinstance(kind, GraphQLList):
            element = lambda: self.value(name, kind.of_type)  # noqa: E731
            return [element() for _ in range(self.rng.randrange(4))] if self.rng.random() < 0.7 else element()
        if isinstance(kind, GraphQLInputObjectType):
            return {
                inner: self.value(inner, field.type)
                for inner, field in kind.fields.items()
                if isinstance(field.type, GraphQLNonNull) or self.rng.random() < 0.25
            }
        if isinstance(kind, GraphQLEnumType):
            return self.rng.choice(sorted(kind.values))
        if kind.name == "Boolean":
            return self.rng.random() < 0.5
        if kind.name in ("Int", "Long", "Float"):
            return self.rng.randrange(5)
        if name == "types":
            return self.rng.choice(RELATIONSHIPS)
        if name == "relatedEntityTypes":
            return self.rng.choice(["dataset", "corpuser", "domain", "tag"])
        if name == "aspectNames":
            return self.rng.choice(["status", "ownership", "datasetProperties", "domainProperties", "tagProperties"])
        return self.rng.choice(["", "a", "urn:li:domain:finance", "two words"])


def format_literal(kind, value) -> str:
    """A value in GraphQL syntax."""
    if isinstance(kind, GraphQLNonNull):
        return format_literal(kind.of_type, value)
    if isinstance(kind, GraphQLList):
        if isinstance(value, list):
            return "[" + ", ".join(format_literal(kind.of_type, element) for element in value) + "]"
        return format_literal(kind.of_type, value)
    if isinstance(kind, GraphQLInputObjectType):
        return "{" + ", ".join(f"{n}: {format_literal(kind.fields[n].type, v)}" for n, v in value.items()) + "}"
    if isinstance(kind, GraphQLEnumType):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
