//! The engine from request to reply, over a real store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod documents;
mod fixture;
mod introspection;
mod limits;
mod memory;
mod mutations;
mod nulls;
mod reads;
mod refusals;
mod relationships;
mod selections;
