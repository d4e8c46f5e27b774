//! Tests of the engine over a real store.

#![expect(
    clippy::unwrap_used,
    reason = "a test should stop at the first failure"
)]

mod documents;
mod fixture;
mod introspection;
mod limits;
mod literals;
mod memory;
mod mutations;
mod nulls;
mod reads;
mod rejections;
mod relationships;
mod selections;
