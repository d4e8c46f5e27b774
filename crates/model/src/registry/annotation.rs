//! Annotations on their way from the field they stand on to the value they mean.
//!
//! Shared by relationships ([`super::load`]) and search ([`super::plan`]); it must not know what an annotation
//! says. A step is the name of a field or of a union's member, or `*` for the items of a list or the values of a map.

use std::fmt;

use super::load::{LoadError, meaning};

/// Something that is still some steps away from its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Annotation<T> {
    /// The steps that are left, such as `/tags/*/tag`.
    pub(super) path: &'static str,
    pub(super) target: T,
}

/// What an annotation leads to, in words for the person who wrote it.
pub(super) trait Target: Copy {
    fn words(self) -> String;
}

impl<T: Copy> Annotation<T> {
    /// The first step, and the annotation behind it.
    pub(super) fn step(self) -> Option<(&'static str, Self)> {
        let path = self.path.strip_prefix('/')?;
        let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        Some((first, Self { path: rest, ..self }))
    }
}

/// Those annotations that continue through `step`.
pub(super) fn through<T: Copy>(annotations: &[Annotation<T>], step: &str) -> Vec<Annotation<T>> {
    annotations
        .iter()
        .filter_map(|annotation| annotation.step())
        .filter(|(first, _)| *first == step)
        .map(|(_, rest)| rest)
        .collect()
}

/// Fails if an annotation has no way to go on.
pub(super) fn no_dead_end<T: Target>(
    annotations: &[Annotation<T>],
    place: impl fmt::Display,
    is_step: impl Fn(&str) -> bool,
) -> Result<(), LoadError> {
    for annotation in annotations {
        if !annotation.step().is_some_and(|(first, _)| is_step(first)) {
            let problem = format!(
                "has {} at '{}', where there is nothing",
                annotation.target.words(),
                annotation.path
            );
            return Err(meaning(place.to_string(), problem));
        }
    }
    Ok(())
}
