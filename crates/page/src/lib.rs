//! The files of the web page, embedded into the binary.
//!
//! `scripts/build-page` builds them from `ui/` into `files/built`, which is not under version
//! control. Without them the page explains how to build it.
//!
//! This crate must not know HTTP: `docent-http` serves the bytes. New files need no change here.

/// A file, with compressed variants where those are smaller.
#[derive(Debug)]
pub struct File {
    /// Relative to the root of the page, without a leading slash.
    path: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/built.rs"));

/// The page if it was not built.
const NOT_BUILT: File = File {
    path: "index.html",
    plain: include_bytes!("../files/not-built.html"),
    gzip: None,
    brotli: None,
};

/// The directory of the files with a content hash in their name.
const HASHED: &str = "assets/";

/// The file with this path.
pub fn find(path: &str) -> Option<&'static File> {
    BUILT.iter().find(|file| file.path == path)
}

/// The HTML document of all page routes.
pub fn index() -> &'static File {
    find("index.html").unwrap_or(&NOT_BUILT)
}

/// All built files.
pub fn files() -> impl Iterator<Item = &'static File> {
    BUILT.iter()
}

impl File {
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// The uncompressed content.
    pub fn plain(&self) -> &'static [u8] {
        self.plain
    }

    /// The content, compressed with gzip.
    pub fn gzip(&self) -> Option<&'static [u8]> {
        self.gzip
    }

    /// The content, compressed with Brotli.
    pub fn brotli(&self) -> Option<&'static [u8]> {
        self.brotli
    }

    /// Whether the content never changes, because the path contains its hash.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with(HASHED)
    }

    /// The content type, by the file extension.
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
    fn there_is_always_an_index_document() {
        assert_eq!(index().content_type(), "text/html; charset=utf-8");
        assert!(!index().is_immutable());
        assert!(index().plain().starts_with(b"<!doctype html>"));
    }

    #[test]
    fn every_built_file_has_a_content_type_and_is_found_by_its_path() {
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
    fn compressed_variants_are_smaller_than_the_file() {
        for file in files() {
            for compressed in [file.gzip(), file.brotli()].into_iter().flatten() {
                assert!(compressed.len() < file.plain().len(), "{}", file.path());
            }
        }
    }
}
