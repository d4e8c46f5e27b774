//! Generates valid GraphQL documents from the schema of the server.

use std::collections::HashMap;

use docent_e2e::load::Random;
use serde_json::Value;

use crate::support::App;

const INTROSPECTION: &str = "{ __schema { types { name kind possibleTypes { name } enumValues { name }
    inputFields { name defaultValue type { ...T } }
    fields { name type { ...T } args { name defaultValue type { ...T } } } } } }
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }";

/// Deeper selections are cut.
const MAX_DEPTH: usize = 5;
const MAX_FIELDS: usize = 40;

const TEXTS: [&str; 10] = [
    "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD)",
    "urn:li:tag:pii",
    "urn:li:domain:finance",
    "urn:li:corpuser:etl",
    "urn:li:glossaryTerm:revenue",
    "urn:li:tag:missing",
    "*",
    "orders",
    "",
    "💥",
];

#[derive(Debug)]
pub(crate) struct Schema {
    types: HashMap<String, Value>,
}

impl Schema {
    pub(crate) async fn of(app: &App) -> Self {
        let reply = app.graphql(INTROSPECTION).await;
        let types = reply["data"]["__schema"]["types"].as_array();
        let types = types.unwrap_or_else(|| panic!("{reply}")).iter();
        let named = types.map(|it| (it["name"].as_str().unwrap().to_owned(), it.clone()));
        Self {
            types: named.collect(),
        }
    }

    /// A document in which every field has an alias with a number, in their order.
    pub(crate) fn document(&self, random: &mut Random) -> String {
        let is_mutation = random.below(4) == 0;
        let (keyword, root) = if is_mutation {
            ("mutation", "Mutation")
        } else {
            ("query", "Query")
        };
        let mut generator = Generator {
            schema: self,
            random,
            aliases: 0,
            fragments: Vec::new(),
        };
        let selection = generator.selection(root, 0);
        let fragments = generator.fragments.join("\n");
        format!("{keyword} {selection}\n{fragments}")
    }
}

struct Generator<'a> {
    schema: &'a Schema,
    random: &'a mut Random,
    aliases: usize,
    fragments: Vec<String>,
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The innermost type.
fn named(kind: &Value) -> &str {
    if kind["ofType"].is_object() {
        named(&kind["ofType"])
    } else {
        text(kind, "name")
    }
}

impl<'a> Generator<'a> {
    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    fn selection(&mut self, type_name: &str, depth: usize) -> String {
        let schema = self.schema;
        let kind = &schema.types[type_name];
        let mut parts = Vec::new();
        let fields = list(kind, "fields");
        for _ in 0..=self.random.index(if depth == 0 { 2 } else { 4 }) {
            if fields.is_empty() || self.aliases > MAX_FIELDS {
                break;
            }
            let field = &fields[self.random.index(fields.len())];
            parts.extend(self.field(field, depth));
        }
        let possible = list(kind, "possibleTypes");
        if !possible.is_empty() && depth < MAX_DEPTH && self.aliases < MAX_FIELDS {
            let member = text(&possible[self.random.index(possible.len())], "name");
            let inner = self.selection(member, depth + 1);
            if self.one_in(3) {
                let name = format!("F{}", self.fragments.len());
                self.fragments
                    .push(format!("fragment {name} on {member} {inner}"));
                parts.push(format!("...{name}"));
            } else {
                parts.push(format!("... on {member} {inner}"));
            }
        }
        if parts.is_empty() || self.one_in(5) {
            let alias = self.alias();
            parts.push(format!("{alias}: __typename"));
        }
        format!("{{ {} }}", parts.join(" "))
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases)
    }

    fn field(&mut self, field: &'a Value, depth: usize) -> Option<String> {
        let result = named(&field["type"]);
        let kind = text(self.schema.types.get(result)?, "kind");
        let is_leaf = kind == "SCALAR" || kind == "ENUM";
        if !is_leaf && depth >= MAX_DEPTH {
            return None;
        }
        let alias = self.alias();
        let arguments = self.members(list(field, "args"), 0);
        let arguments = if arguments.is_empty() {
            String::new()
        } else {
            format!("({arguments})")
        };
        let directive = match self.random.below(12) {
            0 => " @include(if: true)",
            1 => " @skip(if: true)",
            _ => "",
        };
        let selection = if is_leaf {
            String::new()
        } else {
            self.selection(result, depth + 1)
        };
        let name = text(field, "name");
        Some(format!("{alias}: {name}{arguments}{directive} {selection}"))
    }

    /// The required arguments or members, and some of the others.
    fn members(&mut self, members: &'a [Value], depth: usize) -> String {
        let mut written = Vec::new();
        for member in members {
            let is_required =
                text(&member["type"], "kind") == "NON_NULL" && member["defaultValue"].is_null();
            if is_required || depth < 3 && self.one_in(4) {
                let value = self.value(&member["type"], depth);
                written.push(format!("{}: {value}", text(member, "name")));
            }
        }
        written.join(", ")
    }

    fn value(&mut self, kind: &'a Value, depth: usize) -> String {
        match text(kind, "kind") {
            "NON_NULL" => return self.present(&kind["ofType"], depth),
            _ if self.one_in(10) => return "null".to_owned(),
            _ => {}
        }
        self.present(kind, depth)
    }

    fn present(&mut self, kind: &'a Value, depth: usize) -> String {
        if text(kind, "kind") == "LIST" {
            let count = self.random.index(3);
            let items: Vec<String> = (0..count)
                .map(|_| self.value(&kind["ofType"], depth))
                .collect();
            return format!("[{}]", items.join(", "));
        }
        let name = text(kind, "name");
        let declared = &self.schema.types[name];
        match text(declared, "kind") {
            "ENUM" => {
                let values = list(declared, "enumValues");
                text(&values[self.random.index(values.len())], "name").to_owned()
            }
            "INPUT_OBJECT" => format!(
                "{{{}}}",
                self.members(list(declared, "inputFields"), depth + 1)
            ),
            _ => self.scalar(name),
        }
    }

    fn scalar(&mut self, name: &str) -> String {
        let number = ["0", "1", "10", "-1", "2147483647", "-2147483648"][self.random.index(6)];
        match name {
            "Boolean" => self.one_in(2).to_string(),
            "Int" | "Long" => number.to_owned(),
            "Float" => format!("{number}.5"),
            _ => Value::from(TEXTS[self.random.index(TEXTS.len())]).to_string(),
        }
    }
}
