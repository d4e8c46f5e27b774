//! The measurements. Each takes a [`crate::bench::Bench`] and adds lines to the [`crate::report::Report`].
//!
//! To add one: a module with a function like the others, and a line in [`crate::main`]'s list.

pub(crate) mod bulk;
pub(crate) mod compare;
pub(crate) mod memory;
pub(crate) mod postgres;
pub(crate) mod reads;
pub(crate) mod scale;
pub(crate) mod search;
pub(crate) mod start;
pub(crate) mod writes;
