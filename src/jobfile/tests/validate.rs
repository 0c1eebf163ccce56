//! A validator for the part of JSON Schema that the schema of the job file uses. It panics at any other keyword.

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords that say something to people.
const ANNOTATIONS: [&str; 6] = ["$schema", "definitions", "title", "description", "default", "examples"];

/// A schema, and the whole that its references are looked up in.
#[derive(Clone, Copy)]
pub(super) struct Schema<'s> {
    root: &'s Value,
    here: &'s Value,
}

impl<'s> Schema<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, here: root }
    }

    fn at(self, here: &'s Value) -> Self {
        Self { here, ..self }
    }

    /// Whether `value` is valid under the schema.
    pub(super) fn takes(self, value: &Value) -> bool {
        match self.here {
            Value::Bool(taken) => *taken,
            Value::Object(keywords) => {
                keywords.iter().all(|(name, rule)| self.keeps(keywords, name, rule, value))
            }
            other => panic!("no schema: {other}"),
        }
    }

    fn keeps(self, beside: &Map<String, Value>, name: &str, rule: &'s Value, value: &Value) -> bool {
        let any =
            |schemas: &'s Value| list(schemas).iter().filter(|schema| self.at(schema).takes(value)).count();
        match name {
            "$ref" => {
                let pointer = rule.as_str().and_then(|path| path.strip_prefix('#'));
                let target = pointer.and_then(|pointer| self.root.pointer(pointer));
                self.at(target.unwrap_or_else(|| panic!("nothing at {rule}"))).takes(value)
            }
            "type" => is_of_type(value, rule.as_str().expect("one type")),
            "enum" => list(rule).contains(value),
            "const" => rule == value,
            "not" => !self.at(rule).takes(value),
            "anyOf" => any(rule) > 0,
            "allOf" => any(rule) == list(rule).len(),
            "oneOf" => any(rule) == 1,
            "pattern" => value.as_str().is_none_or(|text| {
                Regex::new(rule.as_str().expect("a pattern")).expect("a pattern").is_match(text)
            }),
            "minimum" => value.as_f64().is_none_or(|value| value >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|value| value <= rule.as_f64().expect("a number")),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= number(rule)),
            "items" => {
                value.as_array().is_none_or(|items| items.iter().all(|item| self.at(rule).takes(item)))
            }
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= number(rule)),
            "uniqueItems" => value
                .as_array()
                .is_none_or(|items| items.iter().enumerate().all(|(at, item)| !items[..at].contains(item))),
            "maxProperties" => value.as_object().is_none_or(|object| object.len() as u64 <= number(rule)),
            "dependencies" => value.as_object().is_none_or(|object| {
                let needed = |(key, needs): (&String, &'s Value)| {
                    let is_there = |key: &Value| object.contains_key(key.as_str().expect("a key"));
                    !object.contains_key(key) || list(needs).iter().all(is_there)
                };
                rule.as_object().expect("keys").iter().all(needed)
            }),
            "minProperties" => value.as_object().is_none_or(|object| object.len() as u64 >= number(rule)),
            "required" => value.as_object().is_none_or(|object| {
                list(rule).iter().all(|key| object.contains_key(key.as_str().expect("a key")))
            }),
            "properties" => value.as_object().is_none_or(|object| {
                object.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| self.at(rule).takes(value)))
            }),
            "propertyNames" => value.as_object().is_none_or(|object| {
                object.keys().all(|key| self.at(rule).takes(&Value::String(key.clone())))
            }),
            "additionalProperties" => value.as_object().is_none_or(|object| {
                let named =
                    |key: &str| beside.get("properties").is_some_and(|known| known.get(key).is_some());
                object.iter().all(|(key, value)| named(key) || self.at(rule).takes(value))
            }),
            _ if ANNOTATIONS.contains(&name) => true,
            _ => panic!("the keyword {name} is not known here"),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => panic!("no type {name}"),
    }
}
