//! Generates the table of embedded files from `files/built`, if the page was built.
//!
//! The build of the page (`ui/`) compresses, hashes and checks the files, so that Docent compiles
//! without Node.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // `files` exists in every checkout, so only a build of the page triggers a rebuild.
    println!("cargo::rerun-if-changed=files");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?)
        .join("files")
        .join("built");
    let mut paths = Vec::new();
    if root.is_dir() {
        list(&root, &mut paths)?;
    }
    paths.sort();
    let mut table = String::from("pub(crate) const BUILT: &[File] = &[\n");
    for path in &paths {
        let is_compressed = path
            .extension()
            .is_some_and(|ending| ending == "gz" || ending == "br");
        if !is_compressed {
            write_entry(&mut table, &root, path).map_err(io::Error::other)?;
        }
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("built.rs"), table)
}

fn list(directory: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

fn write_entry(table: &mut String, root: &Path, path: &Path) -> std::fmt::Result {
    let name = path
        .strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string();
    let compressed = |ending: &str| {
        let variant = PathBuf::from(format!("{}.{ending}", path.display()));
        if variant.is_file() {
            format!("Some(include_bytes!({:?}))", variant.display().to_string())
        } else {
            "None".to_owned()
        }
    };
    writeln!(
        table,
        "    File {{ path: {name:?}, plain: include_bytes!({:?}), gzip: {}, brotli: {} }},",
        path.display().to_string(),
        compressed("gz"),
        compressed("br"),
    )
}
