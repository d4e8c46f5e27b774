//! The engine from request to reply, over a real store.

mod documents;
mod fixture;
mod introspection;
mod mutations;
mod nulls;
mod reads;
mod refusals;
