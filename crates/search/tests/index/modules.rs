//! The modules of the crate depend on each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules that each top-level module uses.
fn dependencies(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut dependencies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut directories = vec![source.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let module = top_level_module(path.strip_prefix(source).unwrap());
            let used = dependencies.entry(module.clone()).or_default();
            let text = fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim().starts_with("//"));
            for part in code.flat_map(|line| line.split("crate::").skip(1)) {
                let end = part.find(|it: char| !it.is_ascii_lowercase() && it != '_');
                used.insert(part[..end.unwrap_or(part.len())].to_owned());
            }
            used.remove(&module);
        }
    }
    let modules: BTreeSet<String> = dependencies.keys().cloned().collect();
    for used in dependencies.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    dependencies
}

fn top_level_module(path: &Path) -> String {
    let first = path.components().next().unwrap();
    let first = PathBuf::from(first.as_os_str());
    first.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn modules_do_not_depend_on_each_other_in_cycles() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut left = dependencies(&source);
    assert!(left["search"].contains("query"), "{left:?}");
    loop {
        let leaves: BTreeSet<String> = left
            .iter()
            .filter(|(_, used)| used.is_empty())
            .map(|(module, _)| module.clone())
            .collect();
        if leaves.is_empty() {
            break;
        }
        left.retain(|module, _| !leaves.contains(module));
        for used in left.values_mut() {
            used.retain(|name| !leaves.contains(name));
        }
    }
    assert!(left.is_empty(), "these modules form cycles: {left:?}");
}
