"""Sends every operation of DataHub's web page to a server and checks the replies.

`operations.json` names the operations. Each has the arguments of its root fields, and the part of
the reply that is checked or the text that the error contains. `examples.json` has the entities that
they are about. `$name` stands for a value that an earlier operation has saved.

With a checkout of DataHub's repository the page's own documents are sent. Without one, documents
with the same root fields are generated from our schema.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLNonNull,
    ListValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    VariableNode,
    Visitor,
    build_ast_schema,
    concat_ast,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    parse,
    print_ast,
    validate,
    visit,
)

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCHEMA_FILES = sorted((ROOT / "crates/graphql/schema").glob("*.graphql"))
PAGE_DOCUMENTS = "datahub-web-react/src"
# How deep generated documents select fields.
DEPTH = 3
TIMEOUT_SECONDS = 30


def our_schema():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SCHEMA_FILES)
    return build_ast_schema(parse(text), assume_valid_sdl=True)


class Page:
    """The documents of the page in a checkout."""

    def __init__(self, checkout):
        files = sorted(Path(checkout, PAGE_DOCUMENTS).rglob("*.graphql"))
        if not files:
            sys.exit(f"{checkout} has no documents under {PAGE_DOCUMENTS}: is it a checkout of DataHub's repository?")
        definitions = concat_ast([parse(path.read_text(encoding="utf-8")) for path in files]).definitions
        self.operations = {it.name.value: it for it in definitions if isinstance(it, OperationDefinitionNode)}
        self.fragments = {it.name.value: it for it in definitions if isinstance(it, FragmentDefinitionNode)}

    def document(self, name):
        """An operation with the fragments that it uses."""
        needed = {}
        pending = [self.operations[name]]
        fragments = self.fragments

        class Collector(Visitor):
            def enter_fragment_spread(self, node, *_):
                fragment = fragments[node.name.value]
                if fragment.name.value not in needed:
                    needed[fragment.name.value] = fragment
                    pending.append(fragment)

        while pending:
            visit(pending.pop(), Collector())
        return DocumentNode(definitions=[self.operations[name], *needed.values()])


def variables_in(node, value, found):
    """Collects the variables in an argument, with their values from the table."""
    if isinstance(node, VariableNode):
        if value is not None:
            found[node.name.value] = value
    elif isinstance(node, ObjectValueNode):
        for field in node.fields:
            member = value.get(field.name.value) if isinstance(value, dict) else None
            variables_in(field.value, member, found)
    elif isinstance(node, ListValueNode):
        items = value if isinstance(value, list) else []
        for item, member in zip(node.values, items, strict=False):
            variables_in(item, member, found)
    return found


def page_request(page, entry):
    document = page.document(entry["operation"])
    variables = {}
    for field in page.operations[entry["operation"]].selection_set.selections:
        arguments = entry["fields"][field.name.value].get("arguments", {})
        for argument in field.arguments:
            variables_in(argument.value, arguments.get(argument.name.value), variables)
    return document, variables


def selection(kind, depth):
    """Selects what has no required arguments, down to a depth."""
    if is_leaf_type(kind):
        return ""
    if is_abstract_type(kind):
        return "{ __typename }"
    parts = ["__typename"]
    for name, field in kind.fields.items():
        if any(isinstance(it.type, GraphQLNonNull) for it in field.args.values()):
            continue
        inner = get_named_type(field.type)
        if is_leaf_type(inner):
            parts.append(name)
        elif depth > 1:
            parts.append(f"{name} {selection(inner, depth - 1)}")
    return "{ " + " ".join(parts) + " }"


def generated_request(schema, entry):
    root = schema.query_type if entry["kind"] == "query" else schema.mutation_type
    variables, declared, selected = {}, [], []
    for name, expected in entry["fields"].items():
        field = root.fields[name]
        passed = []
        for argument, value in expected.get("arguments", {}).items():
            variable = f"{name}_{argument}"
            declared.append(f"${variable}: {field.args[argument].type}")
            passed.append(f"{argument}: ${variable}")
            variables[variable] = value
        arguments = f"({', '.join(passed)})" if passed else ""
        selected.append(f"{name}{arguments} {selection(get_named_type(field.type), DEPTH)}")
    head = f"({', '.join(declared)})" if declared else ""
    return parse(f"{entry['kind']} {entry['operation']}{head} {{ {' '.join(selected)} }}"), variables


class Server:
    def __init__(self, url, token):
        self.url = url
        self.token = token

    def post(self, path, body):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def write_examples(self):
        for entity in json.loads((HERE / "examples.json").read_text(encoding="utf-8")):
            urn = entity["urn"]
            proposals = [
                {
                    "entityType": urn.split(":")[2],
                    "entityUrn": urn,
                    "changeType": "UPSERT",
                    "aspectName": name,
                    "aspect": {"contentType": "application/json", "value": json.dumps(value)},
                }
                for name, value in entity["aspects"].items()
            ]
            reply = self.post("/aspects?action=ingestProposalBatch", {"proposals": proposals})
            if "status" in reply:
                sys.exit(f"{urn} cannot be written: {reply}")


def filled(value, saved):
    """Replaces names of saved values."""
    if isinstance(value, dict):
        return {key: filled(item, saved) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, saved) for item in value]
    if isinstance(value, str) and value.startswith("$"):
        return saved[value[1:]]
    return value


def difference(expected, actual, path="data"):
    """Where a reply lacks what is expected; `None` if it lacks nothing. Of a list, each expected element must be
    there, in any place."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{path} is {json.dumps(actual)[:200]}"
        found = (difference(value, actual.get(key), f"{path}.{key}") for key, value in expected.items())
        return next((it for it in found if it), None)
    if isinstance(expected, list):
        for item in expected:
            if not isinstance(actual, list) or all(difference(item, other) for other in actual):
                return f"{path} lacks {json.dumps(item)}"
        return None
    return None if expected == actual else f"{path} is {json.dumps(actual)[:200]}, not {json.dumps(expected)}"


def check(entry, document, data, errors, saved):
    """What is wrong with a reply; `None` if nothing is."""
    if "error" in entry:
        messages = " ".join(error["message"] for error in errors)
        return None if entry["error"] in messages else f"the error is not '{entry['error']}': {errors or data}"
    if errors:
        return f"errors: {json.dumps(errors)[:600]}"
    for field in document.definitions[0].selection_set.selections:
        expected = entry["fields"][field.name.value]
        key = field.alias.value if field.alias else field.name.value
        actual = data.get(key)
        wrong = difference(filled(expected.get("reply"), saved), actual, key)
        if "reply" in expected and wrong:
            return wrong
        if "save" in expected:
            saved[expected["save"]] = actual["urn"] if isinstance(actual, dict) else actual
    return None


def run(server, schema, table, page):
    saved, failures = {}, []
    for entry in table:
        name = entry["operation"]
        if page:
            document, variables = page_request(page, entry)
        else:
            document, variables = generated_request(schema, entry)
        invalid = validate(schema, document)
        if invalid:
            failures.append(f"{name} is invalid: {invalid[0].message}")
            continue
        request = {"query": print_ast(document), "variables": filled(variables, saved), "operationName": name}
        reply = server.post("/api/graphql", request)
        wrong = check(entry, document, reply.get("data") or {}, reply.get("errors") or [], saved)
        if wrong:
            failures.append(f"{name}: {wrong}")
    return failures


def same_operations(page, table):
    """What the table and the page do not have in common."""
    ours = {entry["operation"]: set(entry["fields"]) for entry in table}
    theirs = {
        name: {field.name.value for field in operation.selection_set.selections}
        for name, operation in page.operations.items()
    }
    missing = [f"the table lacks {name}" for name in theirs.keys() - ours.keys()]
    extra = [f"the page has no {name}" for name in ours.keys() - theirs.keys()]
    both = theirs.keys() & ours.keys()
    other = [f"{name} has the root fields {theirs[name]}" for name in both if theirs[name] != ours[name]]
    return sorted(missing + extra + other)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="the server, whose catalog is changed")
    parser.add_argument("--token", help="an administrator's token")
    parser.add_argument("--checkout", help="a checkout of DataHub's repository")
    arguments = parser.parse_args()
    table = json.loads((HERE / "operations.json").read_text(encoding="utf-8"))
    page = Page(arguments.checkout) if arguments.checkout else None
    server = Server(arguments.url, arguments.token)
    server.write_examples()
    failures = same_operations(page, table) if page else []
    failures += run(server, our_schema(), table, page)
    for failure in failures:
        print(failure)
    print(f"{len(table)} operations, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
