//! The version of a schema.

use std::fmt;

use rusqlite::types::{ToSql, ToSqlOutput};
use serde::{Serialize, Serializer};

/// A version as `PRAGMA user_version` holds it: MAJOR * 1000 + MINOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

impl Version {
    /// The version of the first release.
    pub const FIRST: Self = Self(1_000);

    /// The version of the first major one that has this minor number.
    pub const fn of_minor(minor: u32) -> Self {
        Self(Self::FIRST.0 + minor)
    }

    pub const fn major(self) -> u32 {
        self.0 / 1_000
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.0 % 1_000)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ToSql for Version {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}
