//! The measurements. Each takes a [`crate::bench::Bench`] and adds lines to the
//! [`crate::report::Report`].
//!
//! To add one, write a module with a `measure` function and call it in [`crate::run_all`].

pub(crate) mod agent_query;
pub(crate) mod bulk;
pub(crate) mod compare;
pub(crate) mod datahub_page;
pub(crate) mod growth;
pub(crate) mod loading;
pub(crate) mod memory;
pub(crate) mod peers;
pub(crate) mod postgres;
pub(crate) mod reads;
pub(crate) mod rights;
pub(crate) mod scale;
pub(crate) mod search;
pub(crate) mod start;
pub(crate) mod web_page;
pub(crate) mod writes;
