"""What schemathesis cannot know from the OpenAPI document: URNs that are valid and exist.

Without them, nearly every request would fail early with 400.
"""

import re

import schemathesis
from hypothesis import strategies as st

# Few, so that requests meet what others wrote; then any text, which may be invalid.
IDS = st.one_of(st.sampled_from(["a", "b", "hive", "marketing", "jdoe", "certified"]), st.text(max_size=40))
TYPE_IN_PATH = re.compile(r"/openapi/v[23]/entity/(?:batch/)?(\w+)")


def urn_of(kind: str, name: str) -> str:
    if kind == "dataset":
        return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    return f"urn:li:{kind}:{name}"


URNS = st.builds(urn_of, st.sampled_from(["dataset", "tag", "domain", "corpuser", "container"]), IDS)
schemathesis.openapi.format("urn", URNS)


def of_type_in_path(context, urn):
    """Returns the URN with the entity type of the path; others are left to the generator's negative cases."""
    found = TYPE_IN_PATH.match(context.operation.path)
    if found is None or found[1] in ("generic", "scroll") or not isinstance(urn, str):
        return urn
    parts = urn.split(":", 3)
    if len(parts) < 4 or parts[:2] != ["urn", "li"]:
        return urn
    name = parts[3].removeprefix("(urn:li:dataPlatform:hive,").removesuffix(",PROD)")
    return urn_of(found[1], name)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if isinstance(path_parameters, dict) and "urn" in path_parameters:
        path_parameters["urn"] = of_type_in_path(context, path_parameters["urn"])
    return path_parameters


@schemathesis.hook
def map_body(context, body):
    for item in body if isinstance(body, list) else []:
        if isinstance(item, dict) and "urn" in item:
            item["urn"] = of_type_in_path(context, item["urn"])
    return body
