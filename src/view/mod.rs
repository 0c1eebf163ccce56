//! How facts look to people.

pub mod advice;
