//! How facts look to people.

pub mod advice;
mod place;

pub use place::{Place, USE_DATABASE};
