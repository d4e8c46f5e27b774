//! Which top-level modules of a crate use which others, read from the source text.
//!
//! Understands every form of path that leads to a module: `crate::a::B`, `crate::{a, b::C}`,
//! `super::a`, in `use` declarations and in expressions. A path to an item that the crate's root
//! re-exports leads to the module that defines it. Tests inside a crate are not part of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use crate::files_below;

/// The modules that each module uses. The root of the crate is not one of them.
pub type ModuleGraph = BTreeMap<String, BTreeSet<String>>;

/// Reads the modules below the `src` directory of a crate.
pub fn read_module_graph(source: &Path) -> anyhow::Result<ModuleGraph> {
    let mut graph = ModuleGraph::new();
    // The paths that the files of a module contain.
    let mut paths: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    let mut reexports: BTreeMap<String, String> = BTreeMap::new();
    for (path, bytes) in files_below(source)? {
        let inside = path.strip_prefix(source)?;
        let mut names: Vec<String> = inside
            .with_extension("")
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let is_test = names.iter().any(|name| name == "tests");
        if path.extension().is_none_or(|extension| extension != "rs") || is_test {
            continue;
        }
        if ["lib", "main"].contains(&names[0].as_str()) && names.len() == 1 {
            names.clear();
        }
        let text = String::from_utf8(bytes).with_context(|| path.display().to_string())?;
        let tokens = tokens(&text);
        if let Some(module) = names.first() {
            graph.entry(module.clone()).or_default();
            paths.push((module.clone(), paths_from_root(&tokens, names.len())));
        } else {
            for path in used_in_root(&tokens) {
                if let [module, .., item] = path.as_slice() {
                    reexports.insert(item.clone(), module.clone());
                }
            }
        }
    }
    for (module, used) in &paths {
        for path in used {
            let Some(first) = path.first() else { continue };
            let target = if graph.contains_key(first) {
                Some(first)
            } else {
                reexports.get(first)
            };
            if let Some(target) = target.filter(|target| *target != module).cloned()
                && graph.contains_key(&target)
                && let Some(uses) = graph.get_mut(module)
            {
                uses.insert(target);
            }
        }
    }
    Ok(graph)
}

/// The groups of modules that use each other, directly or through others, each sorted by name.
pub fn cycles(graph: &ModuleGraph) -> Vec<Vec<String>> {
    let reachable: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reachable_from(graph, module)))
        .collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, targets) in &reachable {
        if targets.contains(module) {
            let group = targets.iter().filter(|it| reachable[*it].contains(module));
            groups.insert(group.map(|it| (*it).to_owned()).collect());
        }
    }
    groups.into_iter().collect()
}

fn reachable_from<'g>(graph: &'g ModuleGraph, start: &str) -> BTreeSet<&'g str> {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&'g str> = graph[start].iter().map(String::as_str).collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(graph[module].iter().map(String::as_str));
        }
    }
    reached
}

/// Splits source text into identifiers, `::` and single characters, without comments and literals.
pub fn tokens(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut tokens = Vec::new();
    let mut index = 0;
    while index < characters.len() {
        let start = index;
        match at(index) {
            '/' if at(index + 1) == '/' => {
                while index < characters.len() && at(index) != '\n' {
                    index += 1;
                }
            }
            '/' if at(index + 1) == '*' => {
                index += 2;
                while index < characters.len() && (at(index), at(index + 1)) != ('*', '/') {
                    index += 1;
                }
                index += 2;
            }
            'r' if at(index + 1) == '"'
                || (at(index + 1) == '#' && "#\"".contains(at(index + 2))) =>
            {
                let hashes = (index + 1..characters.len())
                    .take_while(|it| at(*it) == '#')
                    .count();
                index += hashes + 2;
                let is_end = |index: usize| {
                    at(index) == '"' && (1..=hashes).all(|offset| at(index + offset) == '#')
                };
                while index < characters.len() && !is_end(index) {
                    index += 1;
                }
                index += hashes + 1;
            }
            '"' => {
                index += 1;
                while index < characters.len() && at(index) != '"' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                index += 1;
            }
            // A character; otherwise it is a lifetime.
            '\'' if at(index + 1) == '\\' => {
                index += 3;
                while index < characters.len() && at(index) != '\'' {
                    index += 1;
                }
                index += 1;
            }
            '\'' if at(index + 2) == '\'' => index += 3,
            it if is_word(it) => {
                while is_word(at(index)) {
                    index += 1;
                }
                tokens.push(characters[start..index].iter().collect());
            }
            ':' if at(index + 1) == ':' => {
                index += 2;
                tokens.push("::".to_owned());
            }
            it => {
                index += 1;
                if !it.is_whitespace() {
                    tokens.push(it.to_string());
                }
            }
        }
    }
    tokens
}

/// Every path in a file that leads out of its top-level module, from the root of the crate. `depth`
/// is the length of the file's own path.
fn paths_from_root(tokens: &[String], depth: usize) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // For each open brace the name of the inline module that it starts, if it does.
    let mut braces: Vec<Option<&str>> = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        match tokens[index].as_str() {
            "{" => {
                let is_module = index >= 2 && tokens[index - 2] == "mod";
                braces.push(is_module.then(|| tokens[index - 1].as_str()));
            }
            "}" => {
                braces.pop();
            }
            "crate" | "super"
                if (index == 0 || tokens[index - 1] != "::")
                    && !braces.contains(&Some("tests")) =>
            {
                let inline = braces.iter().flatten().count();
                let (mut next, mut parents) = (index, 0);
                while tokens[next] == "super" && is_separator(tokens, next + 1) {
                    parents += 1;
                    next += 2;
                }
                if tokens[next] == "crate" && is_separator(tokens, next + 1) {
                    expand(tokens, next + 2, &[], &mut found);
                } else if parents > 0 && parents == depth + inline {
                    expand(tokens, next, &[], &mut found);
                }
            }
            _ => {}
        }
        index += 1;
    }
    found
}

/// The paths of the `use` declarations in the root of a crate, relative to it.
fn used_in_root(tokens: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token == "use" {
            let prefix = ["crate", "self"].contains(&tokens[index + 1].as_str());
            let start = if prefix { index + 3 } else { index + 1 };
            expand(tokens, start, &[], &mut found);
        }
    }
    found
}

fn is_separator(tokens: &[String], index: usize) -> bool {
    tokens.get(index).is_some_and(|token| token == "::")
}

/// Adds the path that starts at a token, or each path of a group, and returns the index after it.
fn expand(
    tokens: &[String],
    mut index: usize,
    prefix: &[String],
    found: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(index) {
        if token == "{" {
            index += 1;
            while tokens.get(index).is_some_and(|token| token != "}") {
                let next = expand(tokens, index, &path, found);
                let is_comma = tokens.get(next).is_some_and(|token| token == ",");
                index = if is_comma {
                    next + 1
                } else {
                    next.max(index + 1)
                };
            }
            return index + 1;
        }
        path.push(token.clone());
        index += 1;
        if !is_separator(tokens, index) {
            break;
        }
        index += 1;
    }
    // The new name of an import is the one that others use.
    if tokens.get(index).is_some_and(|token| token == "as") {
        path.extend(tokens.get(index + 1).cloned());
        index += 2;
    }
    found.push(path);
    index
}

#[cfg(test)]
mod tests {
    use super::{ModuleGraph, cycles, paths_from_root, tokens, used_in_root};

    fn first_names(text: &str, depth: usize) -> Vec<String> {
        let paths = paths_from_root(&tokens(text), depth).into_iter();
        paths.filter_map(|path| path.into_iter().next()).collect()
    }

    #[test]
    fn every_form_of_path_is_found() {
        for (text, expected) in [
            ("use crate::a::B;", vec!["a"]),
            (
                "use crate::{a, b::{C, D}, E as F};",
                vec!["a", "b", "b", "E"],
            ),
            ("fn f() { crate::a::run(); }", vec!["a"]),
            ("use super::a;", vec!["a"]),
            ("use super::{a, b};", vec!["a", "b"]),
            ("pub(crate) use crate::a::B;", vec!["a"]),
            (
                "mod inner { use super::a; use super::super::b; }",
                vec!["b"],
            ),
            (
                "mod tests { fn f() { crate::a::f(); } } use crate::b;",
                vec!["b"],
            ),
            ("pub(super) fn f() {}", vec![]),
            ("// use crate::a;\n/* crate::b */", vec![]),
            (
                "let text = \"crate::a\"; let raw = r#\"\"crate::b\"#;",
                vec![],
            ),
            ("let quote = '\"'; crate::a::f(quote);", vec!["a"]),
            ("fn f<'a>(it: &'a str) { crate::b::f(it) }", vec!["b"]),
        ] {
            assert_eq!(first_names(text, 1), expected, "{text}");
        }
        assert_eq!(first_names("use super::super::a; use super::b;", 2), ["a"]);
    }

    #[test]
    fn re_exports_of_the_root_are_found() {
        let text = "pub use a::{B, c::D as E}; use crate::f::G;";
        let found = used_in_root(&tokens(text));
        let expected = [vec!["a", "B"], vec!["a", "c", "D", "E"], vec!["f", "G"]];
        assert_eq!(found, expected);
    }

    #[test]
    fn modules_that_use_each_other_are_a_cycle() {
        let graph: ModuleGraph = [
            ("a", vec!["b", "d"]),
            ("b", vec!["c"]),
            ("c", vec!["a"]),
            ("d", vec![]),
            ("e", vec!["a"]),
        ]
        .into_iter()
        .map(|(module, used)| {
            let used = used.into_iter().map(str::to_owned).collect();
            (module.to_owned(), used)
        })
        .collect();
        assert_eq!(cycles(&graph), [["a", "b", "c"]]);
    }
}
