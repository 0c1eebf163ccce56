//! How facts look to people.

pub mod advice;
pub(crate) mod json;
pub(crate) mod terminal;
