//! The bytes that a command gets, kept exactly.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use serde::{Deserialize, Serialize, Serializer};

/// The longest argument or variable of a command, its closing NUL included: `MAX_ARG_STRLEN` of `execve(2)`.
pub const MAX_ARG_STRLEN: usize = 128 * 1024;

/// A command, argument, variable or path: any bytes but NUL.
///
/// Serialised as a string if it is UTF-8, else as an array of byte values, so that no byte is lost.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
#[serde(from = "TextOrBytes")]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// For people: bytes that are not UTF-8 are replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<&OsStr> for Bytes {
    fn from(s: &OsStr) -> Self {
        Self(s.as_bytes().to_vec())
    }
}

impl From<&str> for Bytes {
    fn from(s: &str) -> Self {
        Self(s.as_bytes().to_vec())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or an array of bytes")]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<TextOrBytes> for Bytes {
    fn from(either: TextOrBytes) -> Self {
        match either {
            TextOrBytes::Text(text) => Self(text.into_bytes()),
            TextOrBytes::Bytes(bytes) => Self(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_a_round_trip() {
        for bytes in [b"plain".to_vec(), vec![0xff, 0x80, b'a'], Vec::new()] {
            let json = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().0, bytes);
        }
    }
}
