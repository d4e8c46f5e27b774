"""Makes up valid documents over the schema: the same seed, schema and URNs always give the same documents.

Each document is checked with graphql-core's own validation; one whose selections happen to conflict is thrown away.
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
# Not asked: what the caller may do is not part of the reference.
LEFT_OUT = {"privileges", "me", "listAccessTokens", "getAccessTokenMetadata"}
# Not asked: searches and walks need an index and a graph, which the reference has none of; tests of their own hold them.
LEFT_OUT_TYPES = {"SearchResults", "EntityLineageResult"}
RELATIONSHIPS = ["OwnedBy", "IsPartOf", "DownstreamOf", "AssociatedWith", "TaggedWith", "IsMemberOfGroup", "TermedWith"]
# Roots by the registry's name of the entity type that they read.
BY_URN = {
    "dataset": "dataset",
    "domain": "domain",
    "container": "container",
    "corpUser": "corpuser",
    "dataPlatform": "dataPlatform",
}


def generate(schema, urns: list, count: int, seed: int):
    """Returns (name, request) pairs."""
    made = []
    attempt = 0
    while len(made) < count:
        attempt += 1
        # A source of its own for each document: one more draw in one of them does not change those after it.
        request = Document(schema, urns, random.Random(seed * 1_000_003 + attempt)).request()
        if not validate(schema, parse(request["query"])):
            made.append((f"generated: {attempt}", request))
    return made


class Document:
    def __init__(self, schema, urns: list, chance: random.Random):
        self.schema = schema
        self.urns = urns
        self.chance = chance
        self.fragments = []
        self.definitions = {}
        self.variables = {}
        self.names = 0
        # How many fields may be selected, about: short documents are easier to read when they fail.
        self.room = chance.choice([8, 20, 45])

    def request(self) -> dict:
        roots = [self.root() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
        body = " ".join(roots)
        if self.chance.random() < 0.2:
            body += " __typename"
        declared = ", ".join(f"${name}: {kind}" for name, kind in self.definitions.items())
        head = "query Made" + (f"({declared})" if declared else "")
        query = " ".join([f"{head} {{ {body} }}", *self.fragments])
        # Laid out, so that locations are more than one line; sometimes on one line.
        if self.chance.random() < 0.8:
            query = print_ast(parse(query))
        request = {"query": query}
        if self.variables:
            request["variables"] = self.variables
        return request

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def urn(self, kind: str | None = None) -> str:
        fitting = [urn for urn in self.urns if kind is None or entity_type(urn) == kind]
        if kind is None:
            # Kinds alike, however many entities each has.
            kind = self.chance.choice(sorted({entity_type(urn) for urn in fitting}))
            fitting = [urn for urn in fitting if entity_type(urn) == kind]
        urn = self.chance.choice(fitting)
        if self.chance.random() < 0.04:
            urn = urn.replace(",", ",missing-", 1) if "," in urn else urn + "-missing"
        return urn

    def variable(self, kind: str, value) -> str:
        name = self.name("v")
        self.definitions[name] = kind
        self.variables[name] = value
        return f"${name}"

    def flag(self, value: bool) -> str:
        """A variable for a condition: two are enough for a document."""
        name = "yes" if value else "no"
        self.definitions[name] = "Boolean!"
        self.variables[name] = value
        return f"${name}"

    def text(self, kind: str, value: str) -> str:
        return self.variable(kind, value) if self.chance.random() < 0.3 else f'"{value}"'

    def root(self) -> str:
        query = self.schema.query_type
        root = self.chance.choice([*BY_URN, "dataset", "dataset", "entity", "entity", "entities", "entities", "listDomains", "entityExists"])
        key = self.name("r") + ": " if self.chance.random() < 0.9 else ""
        field = query.fields[root]
        if root == "entityExists":
            return f"{self.name('r')}: entityExists(urn: {self.text('String!', self.urn())})"
        if root == "listDomains":
            parent = self.chance.choice(["", f"parentDomain: \"{self.urn('domain')}\" "])
            arguments = f"input: {{ {parent}start: {self.chance.randrange(3)} count: {self.chance.randrange(8)} }}"
        elif root == "entities":
            urns = [self.urn() for _ in range(self.chance.randrange(1, 6))]
            if self.chance.random() < 0.4:
                arguments = f"urns: {self.variable('[String!]!', urns)}"
            else:
                arguments = "urns: [" + ", ".join(f'"{urn}"' for urn in urns) + "]"
            if self.chance.random() < 0.3:
                arguments += f" checkForExistence: {self.chance.choice(['true', 'false', 'null'])}"
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
            usable = [n for n, f in kind.fields.items() if self.is_asked(n, f) and self.usable(f, depth)]
            wanted = self.chance.randrange(1, 7) if self.room > 0 else 1
            for name in self.chance.sample(usable, min(len(usable), wanted)):
                self.room -= 1
                parts.append(self.field(name, kind.fields[name], depth))
        if isinstance(kind, (GraphQLInterfaceType, GraphQLUnionType)):
            possible = sorted(t.name for t in self.schema.get_possible_types(kind))
            likely = [name for name in ("Dataset", "Domain", "CorpUser", "CorpGroup", "Container", "Tag") if name in possible]
            for _ in range(self.chance.randrange(1, 4) if self.room > 0 else 0):
                parts.append(self.fragment(self.chance.choice(likely + possible), depth))
            others = [n for n in ("Entity", "BrowsableEntity", "EntityWithRelationships", "HasLogicalParent") if n != kind.name]
            if self.room > 0 and self.chance.random() < 0.3 and isinstance(kind, GraphQLInterfaceType):
                parts.append(self.fragment(self.chance.choice(others), depth))
        elif self.room > 0 and self.chance.random() < 0.25:
            parts.append(self.fragment(kind.name, depth))
        if self.chance.random() < 0.25 or not parts:
            parts.append("__typename" if self.chance.random() < 0.7 else f"{self.name('t')}: __typename")
        if parts and self.chance.random() < 0.15:
            # The same again: merged into one.
            parts.append(self.chance.choice(parts))
        self.chance.shuffle(parts)
        return " ".join(parts)

    def is_asked(self, name: str, field):
        return name not in LEFT_OUT and get_named_type(field.type).name not in LEFT_OUT_TYPES

    def usable(self, field, depth: int) -> bool:
        return is_leaf_type(get_named_type(field.type)) or (depth < MAX_DEPTH and self.room > 0)

    def field(self, name: str, field, depth: int) -> str:
        arguments = self.arguments(field)
        # A field with arguments always has a name of its own: with others it could not be merged.
        alias = self.name("a") + ": " if arguments or self.chance.random() < 0.15 else ""
        text = f"{alias}{name}{arguments}{self.condition()}"
        kind = get_named_type(field.type)
        return text if is_leaf_type(kind) else f"{text} {self.selection(kind, depth + 1)}"

    def fragment(self, name: str, depth: int) -> str:
        body = self.selection(self.schema.get_type(name), depth)
        if self.chance.random() < 0.4:
            fragment = self.name("F")
            self.fragments.append(f"fragment {fragment} on {name} {body}")
            return f"...{fragment}{self.condition()}"
        return f"... on {name}{self.condition()} {body}"

    def condition(self) -> str:
        if self.chance.random() > 0.12:
            return ""
        text = ""
        for directive in self.chance.sample(["skip", "include"], self.chance.choice([1, 1, 2])):
            flag = self.chance.random() < 0.5
            value = self.flag(flag) if self.chance.random() < 0.5 else str(flag).lower()
            text += f" @{directive}(if: {value})"
        return text

    def arguments(self, field) -> str:
        given = []
        for name, argument in field.args.items():
            if isinstance(argument.type, GraphQLNonNull) or self.chance.random() < 0.3:
                value = self.value(name, argument.type)
                given.append(f"{name}: {self.literal(argument.type, value)}")
        return "(" + ", ".join(given) + ")" if given else ""

    def literal(self, kind, value) -> str:
        if self.chance.random() < 0.25:
            return self.variable(str(kind), value)
        return written(kind, value)

    def value(self, name: str, kind):
        if isinstance(kind, GraphQLNonNull):
            return self.value(name, kind.of_type)
        if isinstance(kind, GraphQLList):
            element = lambda: self.value(name, kind.of_type)  # noqa: E731
            return [element() for _ in range(self.chance.randrange(4))] if self.chance.random() < 0.7 else element()
        if isinstance(kind, GraphQLInputObjectType):
            return {
                inner: self.value(inner, field.type)
                for inner, field in kind.fields.items()
                if isinstance(field.type, GraphQLNonNull) or self.chance.random() < 0.25
            }
        if isinstance(kind, GraphQLEnumType):
            return self.chance.choice(sorted(kind.values))
        if kind.name == "Boolean":
            return self.chance.random() < 0.5
        if kind.name in ("Int", "Long", "Float"):
            return self.chance.randrange(5)
        if name == "types":
            return self.chance.choice(RELATIONSHIPS)
        if name == "relatedEntityTypes":
            return self.chance.choice(["dataset", "corpuser", "domain", "tag"])
        if name == "aspectNames":
            return self.chance.choice(["status", "ownership", "datasetProperties", "domainProperties", "tagProperties"])
        return self.chance.choice(["", "a", "urn:li:domain:finance", "two words"])


def written(kind, value) -> str:
    """A value as it is written in a document."""
    if isinstance(kind, GraphQLNonNull):
        return written(kind.of_type, value)
    if isinstance(kind, GraphQLList):
        if isinstance(value, list):
            return "[" + ", ".join(written(kind.of_type, element) for element in value) + "]"
        return written(kind.of_type, value)
    if isinstance(kind, GraphQLInputObjectType):
        return "{" + ", ".join(f"{n}: {written(kind.fields[n].type, v)}" for n, v in value.items()) + "}"
    if isinstance(kind, GraphQLEnumType):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
