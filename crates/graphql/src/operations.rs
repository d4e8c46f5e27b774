//! The names of operations in the audit log.

use std::collections::HashSet;
use std::sync::LazyLock;

use apollo_compiler::ast::{Definition, Document};
use docent_catalog::Error;
use docent_model::shorten;

use crate::sdl::SDL;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// What the server does by itself, and requests that fail before their operation is known.
const WITHOUT_NAME: [&str; 3] = ["server", "bearer token", "GraphQL"];

static FIELDS: LazyLock<HashSet<String>> = LazyLock::new(root_fields);

/// Whether the schema has this field of `Query` or `Mutation`.
pub(crate) fn is_root_field(name: &str) -> bool {
    FIELDS.contains(name)
}

/// Rejects a text that is the operation of no event: neither a field of the schema, nor in the form
/// of a route or command.
pub fn check_operation(text: &str) -> Result<(), Error> {
    let is_known = match text.split_once(' ') {
        Some(("docent", command)) => !command.trim().is_empty(),
        Some((method, path)) => METHODS.contains(&method) && path.starts_with('/'),
        None => FIELDS.contains(text),
    };
    if is_known || WITHOUT_NAME.contains(&text) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "there is no operation '{}': use a GraphQL field such as createPolicy, a route such as POST /logIn, or a \
         command such as docent user add",
        shorten(text)
    )))
}

/// The fields of `Query` and `Mutation`.
fn root_fields() -> HashSet<String> {
    let mut names = HashSet::new();
    for (file, text) in SDL {
        // The server loads the same files at its start, so there are no errors.
        let document = Document::parse(*text, *file).unwrap_or_else(|invalid| invalid.partial);
        for definition in &document.definitions {
            let (name, fields) = match definition {
                Definition::ObjectTypeDefinition(it) => (&it.name, &it.fields),
                Definition::ObjectTypeExtension(it) => (&it.name, &it.fields),
                _ => continue,
            };
            if ["Query", "Mutation"].contains(&name.as_str()) {
                names.extend(fields.iter().map(|field| field.name.to_string()));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_fields_routes_and_commands() {
        for known in [
            "createPolicy",
            "auditLog",
            "POST /aspects?action=ingestProposal",
            "docent user add",
            "server",
            "bearer token",
        ] {
            check_operation(known).unwrap();
        }
        for unknown in [
            "",
            "createPolcy",
            "CorpUser",
            "docent ",
            "FETCH /x",
            "POST x",
        ] {
            let error = check_operation(unknown).unwrap_err().to_string();
            assert!(
                error.contains(&format!("no operation '{unknown}'")),
                "{error}"
            );
        }
    }
}
