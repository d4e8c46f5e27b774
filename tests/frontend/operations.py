"""Sends every operation of DataHub's web page to a server and checks the replies.

`operations.json` names the operations. Each has the arguments of its root fields, and the part of
the reply that is checked or the text that the error contains. A key of `fields` or `reply` is the
head of a field as a document has it: a name, maybe with an alias before and arguments behind it.
`variables` has what the page's document passes further inside. `save` has names for values of the
reply, with their paths. `examples.json` has the entities that the operations are about. `$name`
stands for a value that an earlier operation has saved, or for a time. `$something` is expected
where a value is only known to be there. Operations with `open` are not complete: they are sent, but
their replies are not checked.

With a checkout of DataHub's repository the page's own documents are sent. Without one, documents
with the same root fields are generated from our schema. They select what is checked, and more.
"""

import argparse
import json
import re
import sys
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from pathlib import Path

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    ListValueNode,
    NameNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    Visitor,
    build_ast_schema,
    concat_ast,
    get_named_type,
    is_abstract_type,
    is_interface_type,
    is_leaf_type,
    is_required_argument,
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
HOUR = 3_600_000
SOMETHING = "$something"
HEAD = re.compile(r"(?:(\w+): *)?(\w+)")


def our_schema():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SCHEMA_FILES)
    return build_ast_schema(parse(text), assume_valid_sdl=True)


def response_key(head):
    """The key that the value of a field has in a reply."""
    alias, name = HEAD.match(head).groups()
    return alias or name


def field_name(head):
    return HEAD.match(head)[2]


def head_of(field):
    return f"{field.alias.value}: {field.name.value}" if field.alias else field.name.value


class NameTypes(Visitor):
    """Asks for the type of every object, as the page's client does."""

    def leave_selection_set(self, node, _key, parent, *_):
        if isinstance(parent, OperationDefinitionNode):
            return None
        typename = FieldNode(name=NameNode(value="__typename"), arguments=(), directives=(), selection_set=None)
        return SelectionSetNode(selections=(*node.selections, typename))


class Page:
    """The documents of the page in a checkout. Some operations have more than one."""

    def __init__(self, checkout):
        files = sorted(Path(checkout, PAGE_DOCUMENTS).rglob("*.graphql"))
        if not files:
            sys.exit(f"{checkout} has no documents under {PAGE_DOCUMENTS}: is it a checkout of DataHub's repository?")
        definitions = concat_ast([parse(path.read_text(encoding="utf-8")) for path in files]).definitions
        self.operations = defaultdict(list)
        for it in definitions:
            if isinstance(it, OperationDefinitionNode):
                self.operations[it.name.value].append(it)
        self.fragments = {it.name.value: it for it in definitions if isinstance(it, FragmentDefinitionNode)}

    def document(self, operation):
        """An operation with the fragments that it uses."""
        needed = {}
        pending = [operation]
        fragments = self.fragments

        class Collector(Visitor):
            def enter_fragment_spread(self, node, *_):
                fragment = fragments[node.name.value]
                if fragment.name.value not in needed:
                    needed[fragment.name.value] = fragment
                    pending.append(fragment)

        while pending:
            visit(pending.pop(), Collector())
        return visit(DocumentNode(definitions=[operation, *needed.values()]), NameTypes())


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


def page_request(page, entry, occurrence):
    operation = page.operations[entry["operation"]][occurrence]
    variables = dict(entry.get("variables", {}))
    for field in operation.selection_set.selections:
        arguments = entry["fields"][head_of(field)].get("arguments", {})
        for argument in field.arguments:
            variables_in(argument.value, arguments.get(argument.name.value), variables)
    return page.document(operation), variables


def objects(expected):
    """The objects in what is expected of a field, which may be a list."""
    for value in expected:
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from objects(value)


def selection(schema, kind, depth, expected):
    """Selects what is expected, and down to a depth what has no required arguments."""
    if is_leaf_type(kind):
        return ""
    expected = list(objects(expected))
    parts = {"__typename": "__typename"}
    if is_abstract_type(kind):
        own = kind.fields if is_interface_type(kind) else {}
        of_types = defaultdict(list)
        for value in expected:
            of_types[value.get("__typename")].append({k: v for k, v in value.items() if field_name(k) not in own})
        for name, values in of_types.items():
            if name and any(len(value) > 1 or "__typename" not in value for value in values):
                parts[f"... on {name}"] = f"... on {name} {selection(schema, schema.type_map[name], 0, values)}"
        expected = [{k: v for k, v in value.items() if field_name(k) in own} for value in expected]
    else:
        own = kind.fields
    heads = {response_key(head): head for value in expected for head in value if head != "__typename"}
    for name, field in own.items():
        inner = get_named_type(field.type)
        wanted = depth > 0 if is_leaf_type(inner) else depth > 1 and not is_abstract_type(kind)
        if wanted and name not in heads and not any(is_required_argument(it) for it in field.args.values()):
            heads[name] = name
    for key, head in heads.items():
        values = [value[it] for value in expected for it in value if response_key(it) == key]
        field = own.get(field_name(head))
        inner = selection(schema, get_named_type(field.type), depth - 1, values) if field else ""
        parts[key] = f"{head} {inner}"
    return "{ " + " ".join(parts.values()) + " }"


def generated_request(schema, entry):
    root = schema.query_type if entry["kind"] == "query" else schema.mutation_type
    variables, declared, selected = {}, [], []
    for head, expected in entry["fields"].items():
        field = root.fields.get(field_name(head))
        if not field:
            selected.append(head)
            continue
        passed = []
        for argument, value in expected.get("arguments", {}).items():
            variable = f"{response_key(head)}_{argument}"
            if argument in field.args:
                declared.append(f"${variable}: {field.args[argument].type}")
            passed.append(f"{argument}: ${variable}")
            variables[variable] = value
        arguments = f"({', '.join(passed)})" if passed else ""
        inner = selection(schema, get_named_type(field.type), DEPTH, [expected.get("reply")])
        selected.append(f"{head}{arguments} {inner}")
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

    def write_examples(self, times):
        for entity in filled(json.loads((HERE / "examples.json").read_text(encoding="utf-8")), times):
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


def times():
    """The times that examples and operations have in common, in milliseconds."""
    now = int(time.time() * 1000)
    return {"now": now, "hour_ago": now - HOUR, "day_ago": now - 24 * HOUR}


def filled(value, saved):
    """Replaces names of saved values."""
    if isinstance(value, dict):
        return {key: filled(item, saved) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, saved) for item in value]
    if isinstance(value, str) and value.startswith("$"):
        return saved.get(value[1:], value)
    return value


def difference(expected, actual, path="data"):
    """Where a reply lacks what is expected; `None` if it lacks nothing. Of a list, each expected
    element must be there, in any place; if none is expected, none must be there."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{path} is {json.dumps(actual)[:200]}"
        keys = {head: response_key(head) for head in expected}
        found = (difference(value, actual.get(keys[it]), f"{path}.{keys[it]}") for it, value in expected.items())
        return next((it for it in found if it), None)
    if isinstance(expected, list):
        if not expected and actual != []:
            return f"{path} is {json.dumps(actual)[:200]}, not empty"
        for item in expected:
            if not isinstance(actual, list) or all(difference(item, other) for other in actual):
                return f"{path} lacks {json.dumps(item)}"
        return None
    if expected == SOMETHING:
        return None if actual else f"{path} is {json.dumps(actual)}"
    return None if expected == actual else f"{path} is {json.dumps(actual)[:200]}, not {json.dumps(expected)}"


def at(value, path):
    """What is in a reply at a path of keys with dots between them. `name=…` is the element of a
    list that has this name."""
    for step in path.split("."):
        key, found, wanted = step.partition("=")
        value = next(item for item in value if item[key] == wanted) if found else value[key]
    return value


def check(entry, document, data, errors, saved):
    """What is wrong with a reply; `None` if nothing is."""
    if "error" in entry:
        messages = " ".join(error["message"] for error in errors)
        return None if entry["error"] in messages else f"the error is not '{entry['error']}': {errors or data}"
    if errors:
        return f"errors: {json.dumps(errors)[:600]}"
    for field in document.definitions[0].selection_set.selections:
        expected = entry["fields"][head_of(field)]
        key = response_key(head_of(field))
        actual = data.get(key)
        wrong = difference(filled(expected["reply"], saved), actual, key)
        if wrong:
            return wrong
        for name, path in expected.get("save", {}).items():
            saved[name] = at(actual, path) if path else actual
    return None


def run(server, schema, table, page, saved):
    failures, seen = [], Counter()
    for entry in table:
        name = entry["operation"]
        if page:
            if name not in page.operations or seen[name] >= len(page.operations[name]):
                continue
            document, variables = page_request(page, entry, seen[name])
            seen[name] += 1
        else:
            document, variables = generated_request(schema, entry)
        invalid = validate(schema, document)
        if invalid:
            if not entry.get("open"):
                failures.append(f"{name} is invalid: {invalid[0].message}")
            continue
        request = {"query": print_ast(document), "variables": filled(variables, saved), "operationName": name}
        reply = server.post("/api/graphql", request)
        wrong = check(entry, document, reply.get("data") or {}, reply.get("errors") or [], saved)
        if wrong and not entry.get("open"):
            failures.append(f"{name}: {wrong}")
    return failures


def same_operations(page, table):
    """What the table and the page do not have in common."""
    ours = Counter((entry["operation"], frozenset(entry["fields"])) for entry in table)
    theirs = Counter(
        (name, frozenset(head_of(field) for field in operation.selection_set.selections))
        for name, operations in page.operations.items()
        for operation in operations
    )
    missing = [f"the table lacks {name} with {sorted(fields)}" for name, fields in (theirs - ours).elements()]
    extra = [f"the page has no {name} with {sorted(fields)}" for name, fields in (ours - theirs).elements()]
    return sorted(missing + extra)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="the server, whose catalog is changed")
    parser.add_argument("--token", help="an administrator's token")
    parser.add_argument("--checkout", help="a checkout of DataHub's repository")
    arguments = parser.parse_args()
    table = json.loads((HERE / "operations.json").read_text(encoding="utf-8"))
    page = Page(arguments.checkout) if arguments.checkout else None
    server = Server(arguments.url, arguments.token)
    saved = times()
    server.write_examples(saved)
    failures = same_operations(page, table) if page else []
    failures += run(server, our_schema(), table, page, saved)
    for failure in failures:
        print(failure)
    left = sum(1 for entry in table if entry.get("open"))
    print(f"{len(table)} operations, {len(failures)} failures, {left} open")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
