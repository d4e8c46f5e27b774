//! Resolves annotation paths from the annotated field to the target value.
//!
//! Shared by relationships ([`super::load`]) and search ([`super::plan`]); independent of the
//! content of an annotation. A path segment is the name of a field or union member, or `*` for the
//! items of a list or the values of a map.

use std::fmt;

use super::load::{LoadError, invalid};

/// An annotation with the remaining path to its target value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Annotation<T> {
    /// The remaining path, such as `/tags/*/tag`.
    pub(super) path: &'static str,
    pub(super) target: T,
}

/// The content of an annotation.
pub(super) trait Target: Copy {
    /// Describes it for error messages.
    fn describe(self) -> String;
}

impl<T: Copy> Annotation<T> {
    /// Splits off the first path segment.
    pub(super) fn split_first(self) -> Option<(&'static str, Self)> {
        let path = self.path.strip_prefix('/')?;
        let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        Some((first, Self { path: rest, ..self }))
    }
}

/// The annotations whose path starts with a segment, with the rest of their paths.
pub(super) fn descend<T: Copy>(annotations: &[Annotation<T>], segment: &str) -> Vec<Annotation<T>> {
    annotations
        .iter()
        .filter_map(|annotation| annotation.split_first())
        .filter(|(first, _)| *first == segment)
        .map(|(_, rest)| rest)
        .collect()
}

/// Fails if the path of an annotation does not exist.
pub(super) fn check_paths<T: Target>(
    annotations: &[Annotation<T>],
    location: impl fmt::Display,
    is_segment: impl Fn(&str) -> bool,
) -> Result<(), LoadError> {
    for annotation in annotations {
        if !annotation
            .split_first()
            .is_some_and(|(first, _)| is_segment(first))
        {
            let problem = format!(
                "has {} at '{}', which does not exist",
                annotation.target.describe(),
                annotation.path
            );
            return Err(invalid(location.to_string(), problem));
        }
    }
    Ok(())
}
