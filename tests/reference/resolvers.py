"""Python equivalents of the server's resolvers (`@resolve`) and root fields that are computed from aspects.

Permissions, access tokens and the caller are not part of the reference.
"""

import json

from graphql import GraphQLError, GraphQLList, GraphQLObjectType, get_named_type, get_nullable_type
from graphql.execution.collect_fields import collect_sub_fields

from catalog import Catalog, entity_type

SECRET_ASPECTS = {"corpUserCredentials", "dataHubAccessTokenInfo", "dataHubConnectionDetails", "dataHubSecretValue"}
DEFAULT_COUNT = 20
DEFAULT_ASSERTIONS = 200


def ancestors(step, members):
    def resolve(catalog: Catalog, parent, arguments):
        chain, current = [], parent.owner
        while (ancestor := step(catalog, current)) is not None and ancestor not in [*chain, parent.owner]:
            chain.append(ancestor)
            current = ancestor
        return {"count": len(chain), members: chain}

    return resolve


def member_of_aspect(aspect_of, member):
    def step(catalog: Catalog, urn):
        return (catalog.aspect(urn, aspect_of(urn)) or {}).get(member)

    return step


def parent_data_products(catalog: Catalog, parent, arguments):
    step = member_of_aspect(lambda urn: "dataProductProperties", "parentDataProduct")
    return ancestors(step, "products")(catalog, parent, arguments)["products"]


def created_on(catalog: Catalog, parent, arguments):
    if parent.value.get("created") is not None:
        return parent.value["created"]
    key = catalog.entity_types[entity_type(parent.owner)]["keyAspect"]
    stored = catalog.aspects(parent.owner).get(key)
    return None if stored is None else stored["created"]


def ownership_type(catalog: Catalog, parent, arguments):
    if parent.value.get("typeUrn") is not None:
        return parent.value["typeUrn"]
    kind = parent.value.get("type")
    return None if kind is None else f"urn:li:ownershipType:__system__{kind.lower()}"


def raw_aspects(catalog: Catalog, parent, arguments):
    selection = arguments.get("input") or {}
    names = selection.get("aspectNames")
    if selection.get("autoRenderOnly"):
        return []
    return [
        {"aspectName": name, "payload": json.dumps(stored["value"], separators=(",", ":"), ensure_ascii=False)}
        for name, stored in sorted(catalog.aspects(parent.owner).items())
        if name not in SECRET_ASPECTS and (names is None or name in names)
    ]


def last_ingested(catalog: Catalog, parent, arguments):
    runs = [
        stored["systemMetadata"]["lastObserved"]
        for stored in catalog.aspects(parent.owner).values()
        if stored["systemMetadata"].get("runId", "no-run-id-provided") != "no-run-id-provided"
    ]
    return max(runs, default=None)


def browse_paths(catalog: Catalog, parent, arguments):
    stored = catalog.aspect(parent.owner, "browsePaths")
    if stored is None:
        return None
    return [{"path": path.lstrip("/").split("/")} for path in stored["paths"]]


def is_native_user(catalog: Catalog, parent, arguments):
    return catalog.aspect(parent.owner, "corpUserCredentials") is not None


def schema_field_path(catalog: Catalog, parent, arguments):
    return catalog.key_part(parent.value, "fieldPath", entity_type(parent.value))


def asserted_columns(catalog: Catalog, parent, arguments):
    columns = parent.value.get("fields", [])
    single = parent.value.get("field")
    return columns if single is None or single in columns else [*columns, single]


def value_entities(catalog: Catalog, parent, arguments):
    texts = [value.get("string") for value in parent.value.get("values", [])]
    urns = [text for text in texts if text is not None and text.startswith("urn:li:")]
    return urns or None


def relationships(catalog: Catalog, parent, arguments):
    input = arguments["input"]
    outgoing = input["direction"] == "OUTGOING"
    if outgoing:
        edges = catalog.edges(parent.owner)
    else:
        edges = sorted(
            (relationship, source, aspect)
            for source in catalog.entities
            for relationship, destination, aspect in catalog.edges(source)
            if destination == parent.owner
        )
    edges = [edge for edge in edges if not input["types"] or edge[0] in input["types"]]
    kinds = input.get("relatedEntityTypes")
    if kinds:
        edges = [edge for edge in edges if entity_type(edge[1]) in kinds]
    if input.get("includeSoftDelete") is False:
        edges = [edge for edge in edges if not (catalog.aspect(edge[1], "status") or {}).get("removed")]
    start = input.get("start") or 0
    count = DEFAULT_COUNT if input.get("count") is None else input["count"]
    page = edges[start : start + count]
    return {
        "start": start,
        "count": len(page),
        "total": len(edges),
        "relationships": [{"type": edge[0], "direction": input["direction"], "entity": edge[1]} for edge in page],
    }


def assertions(catalog: Catalog, parent, arguments):
    count = arguments.get("count")
    input = {
        "types": ["Asserts"],
        "direction": "INCOMING",
        "relatedEntityTypes": ["assertion"],
        "includeSoftDelete": bool(arguments.get("includeSoftDeleted")),
        "start": max(arguments.get("start") or 0, 0),
        "count": DEFAULT_ASSERTIONS if count is None else min(max(count, 0), 1000),
    }
    page = relationships(catalog, parent, {"input": input})
    found = page.pop("relationships")
    return page | {"assertions": [edge["entity"] for edge in found]}


def contract(catalog: Catalog, parent, arguments):
    input = {"types": ["ContractFor"], "direction": "INCOMING", "includeSoftDelete": False}
    found = relationships(catalog, parent, {"input": input})["relationships"]
    return found[0]["entity"] if found else None


def domain_stewards(catalog: Catalog, parent, arguments):
    stewards = []
    for urn in sorted(catalog.entities):
        policy = catalog.aspect(urn, "dataHubPolicyInfo") or {}
        criteria = ((policy.get("resources") or {}).get("filter") or {}).get("criteria")
        of_domain = [{"field": "DOMAIN", "values": [parent.owner], "condition": "EQUALS"}]
        if criteria == of_domain and policy["state"] == "ACTIVE" and "EDIT_ENTITY" in policy["privileges"]:
            actors = policy["actors"]
            stewards += actors.get("users", []) + actors.get("groups", [])
    return stewards


def parent_document(catalog: Catalog, urn):
    return ((catalog.aspect(urn, "documentInfo") or {}).get("parentDocument") or {}).get("document")


parent_metrics = ancestors(member_of_aspect(lambda urn: "metricRelationships", "parentMetric"), "metrics")


def hyper_parameter(catalog: Catalog, parent, arguments):
    stored = parent.value.get("hyperParameters")
    return None if not stored else dict(zip(("key", "value"), sorted(stored.items())[-1]))


def wrapped(member):
    def resolve(catalog: Catalog, parent, arguments):
        text = parent.value.get(member)
        return None if text is None else {"string": text}

    return resolve


def last_observed(catalog: Catalog, parent, arguments):
    stored = catalog.aspects(parent.owner).get("schemaMetadata")
    return None if stored is None else (stored.get("systemMetadata") or {}).get("lastObserved")


RESOLVERS = {
    "parentDomains": ancestors(member_of_aspect(lambda urn: "domainProperties", "parentDomain"), "domains"),
    "parentContainers": ancestors(member_of_aspect(lambda urn: "container", "container"), "containers"),
    "parentNodes": ancestors(member_of_aspect(lambda urn: f"{entity_type(urn)}Info", "parentNode"), "nodes"),
    "parentDataProducts": parent_data_products,
    "createdOn": created_on,
    "ownershipType": ownership_type,
    "rawAspects": raw_aspects,
    "lastIngested": last_ingested,
    "browsePaths": browse_paths,
    "isNativeUser": is_native_user,
    "schemaFieldPath": schema_field_path,
    "valueEntities": value_entities,
    "assertedColumns": asserted_columns,
    "relationships": relationships,
    "assertions": assertions,
    "contract": contract,
    # No profiles are stored.
    "datasetProfiles": lambda catalog, parent, arguments: [],
    "domainStewards": domain_stewards,
    "parentDocuments": ancestors(parent_document, "documents"),
    "parentMetrics": lambda catalog, parent, arguments: parent_metrics(catalog, parent, arguments)["metrics"],
    "hyperParameter": hyper_parameter,
    "unitaryResults": wrapped("unitaryResults"),
    "intersectionalResults": wrapped("intersectionalResults"),
    "lastObserved": last_observed,
}


class Roots:
    """The root fields of Query."""

    def __init__(self, sources, catalog: Catalog):
        self.sources = sources
        self.catalog = catalog

    def resolve(self, _, info, **arguments):
        read = {
            "entities": self.entities,
            "entityExists": lambda info, urn: self.catalog.exists(self.checked(urn)),
            "listDomains": self.list_domains,
        }.get(info.field_name, self.by_urn)
        found = read(info, **arguments)
        if self.sources.directive("mustExist", info.parent_type.fields[info.field_name].ast_node) is not None:
            found = [self.existing(info, urn) for urn in found] if isinstance(found, list) else self.existing(info, found)
        return self.sources.complete(info.return_type, found, None)

    def checked(self, urn: str) -> str:
        if entity_type(urn) not in self.catalog.entity_types or not urn.startswith("urn:li:"):
            raise GraphQLError(f"{urn} is not a URN")
        return urn

    def by_urn(self, info, urn):
        self.checked(urn)
        kind = get_named_type(info.return_type)
        if isinstance(kind, GraphQLObjectType) and self.sources.type_of_entity.get(entity_type(urn)) != kind.name:
            raise GraphQLError(f"{urn} is not a {kind.name}")
        return urn

    def existing(self, info, urn: str):
        """The URN, or the error of a missing entity unless `exists` is selected."""
        name = self.sources.type_of_entity.get(entity_type(urn))
        if name is None or self.catalog.exists(urn):
            return urn
        selected = collect_sub_fields(
            info.schema, info.fragments, info.variable_values, info.schema.get_type(name), info.field_nodes
        )
        if any(node.name.value == "exists" for nodes in selected.values() for node in nodes):
            return urn
        error = GraphQLError(f"{urn} does not exist")
        if isinstance(get_nullable_type(info.return_type), GraphQLList):
            return error
        raise error

    def entities(self, info, urns, checkForExistence=None):
        urns = [self.checked(urn) for urn in urns]
        return [urn for urn in urns if self.catalog.exists(urn)] if checkForExistence else urns

    def list_domains(self, info, input):
        start = 0 if input.get("start") is None else input["start"]
        count = DEFAULT_COUNT if input.get("count") is None else input["count"]
        if start < 0 or not 0 <= count <= 1000:
            raise GraphQLError("invalid page")
        if input.get("parentDomain") is not None:
            self.checked(input["parentDomain"])
        query = (input.get("query") or "").strip().lower()
        found = []
        for urn in self.catalog.entities:
            properties = self.catalog.aspect(urn, "domainProperties")
            if properties is None or properties.get("parentDomain") != input.get("parentDomain"):
                continue
            if query in ("", "*") or query in properties["name"].lower():
                found.append(((properties.get("created") or {}).get("time", 0), urn))
        found.sort(reverse=True)
        domains = [urn for _, urn in found[start : start + count]]
        return {"start": start, "count": count, "total": len(found), "domains": domains}
