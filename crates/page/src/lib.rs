//! The files of the web page, embedded into the program.
//!
//! They are built from `ui/` by `scripts/build-page` and land in `files/built`, which is not under version control. Without
//! them the program is whole too: its page then says how to build the real one.
//!
//! This crate must not know HTTP: it gives bytes, and `docent-http` serves them. Nothing has to be done here to add a file.

/// One file, as it is and compressed where that makes it smaller.
#[derive(Debug)]
pub struct File {
    /// The path below the root of the page, without a slash in front.
    path: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/built.rs"));

/// What is shown when the page was not built.
const NOT_BUILT: File = File {
    path: "index.html",
    plain: include_bytes!("../files/not-built.html"),
    gzip: None,
    brotli: None,
};

/// The directory in which the build puts the files whose names change with their content.
const HASHED: &str = "assets/";

/// The file at a path, if there is one.
pub fn find(path: &str) -> Option<&'static File> {
    BUILT.iter().find(|file| file.path == path)
}

/// The document that every address of the page is answered with.
pub fn index() -> &'static File {
    find("index.html").unwrap_or(&NOT_BUILT)
}

/// Every file that was built.
pub fn files() -> impl Iterator<Item = &'static File> {
    BUILT.iter()
}

impl File {
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// The content as it is.
    pub fn plain(&self) -> &'static [u8] {
        self.plain
    }

    /// The content as gzip.
    pub fn gzip(&self) -> Option<&'static [u8]> {
        self.gzip
    }

    /// The content as Brotli.
    pub fn brotli(&self) -> Option<&'static [u8]> {
        self.brotli
    }

    /// Whether the content under this path never changes, because the path names the content.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with(HASHED)
    }

    /// What kind of content it is, by the ending of its name.
    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            Some("txt") => "text/plain; charset=utf-8",
            Some("woff2") => "font/woff2",
            Some("png") => "image/png",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_document_to_show() {
        assert_eq!(index().content_type(), "text/html; charset=utf-8");
        assert!(!index().is_immutable());
        assert!(index().plain().starts_with(b"<!doctype html>"));
    }

    #[test]
    fn every_built_file_has_a_known_kind_and_is_found_by_its_path() {
        for file in files() {
            assert_ne!(
                file.content_type(),
                "application/octet-stream",
                "{}",
                file.path()
            );
            assert_eq!(find(file.path()).map(File::path), Some(file.path()));
            assert!(find(&format!("/{}", file.path())).is_none());
        }
    }

    #[test]
    fn compressed_forms_are_smaller_than_the_file() {
        for file in files() {
            for compressed in [file.gzip(), file.brotli()].into_iter().flatten() {
                assert!(compressed.len() < file.plain().len(), "{}", file.path());
            }
        }
    }
}
