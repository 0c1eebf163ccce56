//! Assertions about JSON.

use serde_json::Value;

/// The object has these fields with these values, among others.
#[track_caller]
pub fn assert_fields(object: &Value, expected: &Value) {
    for (field, value) in expected.as_object().expect("an object of expected fields") {
        assert_eq!(object.get(field), Some(value), "{field} of {object:#}");
    }
}
