//! The file: how it is found, trusted, opened, copied and checked, and the helpers that run every statement.

pub mod backup;
pub mod caller;
pub mod connection;
pub mod error;
pub mod file_system;
pub mod header;
pub mod immutable;
pub mod objects;
pub mod open;
pub mod rename;
pub mod row;
pub mod schema;
pub mod store_file;
pub mod trust;
pub mod two_views;
pub mod version;
