//! How facts look to people and to programs. A view is given what it shows: it looks up nothing.

pub mod advice;
pub(crate) mod json;
pub(crate) mod metrics;
pub(crate) mod page;
pub(crate) mod snapshot;
pub(crate) mod terminal;
pub(crate) mod text;
