// Shows the OpenAPI document and sends requests. All content is set as text, never as markup, and
// the token is stored nowhere but in its field.
"use strict";

const METHODS = ["get", "head", "post", "patch", "put", "delete"];
const calls = document.getElementById("calls");

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** An example value for a schema. */
function example(schema, document, depth = 0) {
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return depth > 4 ? {} : example(document.components.schemas[name] ?? {}, document, depth + 1);
  }
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case "array":
      return [example(schema.items, document, depth + 1)];
    case "object": {
      const required = schema.required ?? [];
      const known = Object.entries(schema.properties ?? {});
      const members = known.filter(([name]) => required.includes(name));
      return Object.fromEntries(members.map(([name, part]) => [name, example(part, document, depth + 1)]));
    }
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "string":
      return schema.format === "urn" ? "urn:li:…" : "";
    default:
      return {};
  }
}

function target(path, fields) {
  let filled = path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of fields) {
    if (parameter.in === "path") {
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    } else if (input.value !== "") {
      if (parameter.in === "query") query.set(parameter.name, input.value);
      else headers[parameter.name] = input.value;
    }
  }
  const search = query.toString();
  // The page is two levels below the root of the API paths.
  return { url: `../..${filled}${search ? `?${search}` : ""}`, headers };
}

function field(parameter) {
  let input = element("input", {});
  const choices = parameter.schema.type === "boolean" ? ["true", "false"] : parameter.schema.enum;
  if (choices) {
    const empty = parameter.required ? [] : [""];
    const options = [...empty, ...choices].map((choice) => element("option", { value: choice }, choice));
    input = element("select", {}, ...options);
  }
  const label = element("label", { className: "field" }, `${parameter.name} (${parameter.in})`, input);
  return { parameter, input, label };
}

function form(method, path, operation, document) {
  const fields = (operation.parameters ?? []).map(field);
  const schema = operation.requestBody?.content["application/json"].schema;
  const body = schema && element("textarea", { value: JSON.stringify(example(schema, document), null, 2) });
  const send = element("button", { type: "button" }, "Send");
  const reply = element("pre", { hidden: true });
  send.onclick = async () => {
    const { url, headers } = target(path, fields);
    const token = window.document.getElementById("token").value.trim();
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body) headers["Content-Type"] = "application/json";
    reply.hidden = false;
    reply.textContent = "…";
    try {
      const response = await fetch(url, { method: method.toUpperCase(), headers, body: body?.value });
      const text = await response.text();
      let shown = text;
      try {
        shown = JSON.stringify(JSON.parse(text), null, 2);
      } catch {
        // Not JSON: shown unchanged.
      }
      reply.textContent = `${response.status} ${response.statusText}\n${shown}`;
    } catch (error) {
      reply.textContent = String(error);
    }
  };
  const about = body ? [element("label", { className: "field" }, "Body", body)] : [];
  return [...fields.map((one) => one.label), ...about, send, reply];
}

function call(method, path, operation, document) {
  const summary = element(
    "summary",
    {},
    element("span", { className: "method" }, method.toUpperCase()),
    element("span", { className: "path" }, path),
    element("span", { className: "about" }, ` ${operation.summary}`),
  );
  const shown = element("details", {}, summary);
  // Forms are created when they are opened, because there are hundreds.
  shown.ontoggle = () => {
    if (shown.open && shown.children.length === 1) shown.append(...form(method, path, operation, document));
  };
  return shown;
}

function show(document, word) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of METHODS.filter((one) => methods[one])) {
      const operation = methods[method];
      const text = `${method} ${path} ${operation.summary} ${operation.tags}`.toLowerCase();
      if (!text.includes(word)) continue;
      const tag = operation.tags[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(call(method, path, operation, document));
    }
  }
  const shown = [...groups].map(([tag, found]) => {
    const summary = element("summary", {}, `${tag} (${found.length})`);
    return element("details", { open: groups.size < 4 }, summary, ...found);
  });
  calls.replaceChildren(...(shown.length ? shown : [element("p", {}, "No matching endpoints")]));
}

async function start() {
  const reply = await fetch("../v3/api-docs");
  if (!reply.ok) throw new Error(`cannot read the OpenAPI document: ${reply.status}`);
  const described = await reply.json();
  const find = document.getElementById("find");
  find.oninput = () => show(described, find.value.trim().toLowerCase());
  document.getElementById("settings").onsubmit = (event) => event.preventDefault();
  show(described, "");
}

start().catch((error) => {
  calls.textContent = String(error);
});
