//! Reads typed values from the parsed TOML.
//!
//! Each reader returns the value, or records a mistake that says what was found and what is allowed, and returns
//! `None`.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostics::{Mistake, Mistakes, Span};
use crate::model::{JobDefinition, MAX_ARG_STRLEN, WholeNumber};
use crate::text::{Millis, nearest, parse_size, with_units};

/// The longest string that a message quotes.
const MAX_QUOTED_CHARS: usize = 60;

/// `key = value`, or a table and its header.
pub(super) struct Entry<'t> {
    pub key: &'t str,
    /// The place of the key.
    pub at: Span,
    pub value: Value<'t>,
}

/// A value with its key, which messages name.
#[derive(Clone, Copy)]
pub(super) struct Value<'t> {
    key: &'t str,
    in_list: bool,
    node: &'t Spanned<DeValue<'t>>,
}

/// The entries of a table in the order of the file.
pub(super) fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let mut entries: Vec<Entry<'t>> = table
        .iter()
        .map(|(key, node)| Entry {
            key: key.get_ref(),
            at: key.span(),
            value: Value { key: key.get_ref(), in_list: false, node },
        })
        .collect();
    entries.sort_by_key(|entry| entry.at.start);
    entries
}

impl<'t> Value<'t> {
    /// The place of the value. For a table this is its header or its first key.
    pub(super) fn at(self) -> Span {
        self.node.span()
    }

    pub(super) fn data(self) -> &'t DeValue<'t> {
        self.node.get_ref()
    }

    /// Records that the value is not what is `allowed` here.
    pub(super) fn wrong<'m>(self, mistakes: &'m mut Mistakes, allowed: &str) -> &'m mut Mistake {
        mistakes.add(&self.at(), format!("{} must be {allowed}, not {}", self.name(), self.described()))
    }

    /// Records why the value cannot be used.
    pub(super) fn refused<'m>(self, mistakes: &'m mut Mistakes, why: &str) -> &'m mut Mistake {
        mistakes.add(&self.at(), format!("{}: {why}", self.name()))
    }

    /// The value of a `result`; its error is recorded as the reason to refuse this value.
    pub(super) fn ok_or_refuse<T>(self, result: Result<T, String>, mistakes: &mut Mistakes) -> Option<T> {
        result.map_err(|why| self.refused(mistakes, &why)).ok()
    }

    fn name(self) -> String {
        if self.in_list { format!("an entry of `{}`", self.key) } else { format!("`{}`", self.key) }
    }

    fn described(self) -> String {
        match self.data() {
            DeValue::String(text) if text.chars().count() > MAX_QUOTED_CHARS => "this string".into(),
            DeValue::String(text) => format!("{text:?}"),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(_) => "a date or time".into(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
        }
    }

    pub(super) fn string(self, mistakes: &mut Mistakes) -> Option<&'t str> {
        if let DeValue::String(text) = self.data() {
            return Some(text);
        }
        self.wrong(mistakes, "a string");
        None
    }

    /// One of these words.
    pub(super) fn one_of<'w>(self, words: &[&'w str], mistakes: &mut Mistakes) -> Option<&'w str> {
        let text = self.string(mistakes)?;
        let word = words.iter().copied().find(|word| *word == text);
        if word.is_none() {
            let mistake = self.wrong(mistakes, &format!("one of {}", words.join(", ")));
            if let Some(near) = nearest(text, words.iter().copied()) {
                mistake.hint(format!("did you mean \"{near}\"?"));
            }
        }
        word
    }

    /// A string that is not empty, and that the kernel can pass to a command.
    pub(super) fn text(self, mistakes: &mut Mistakes) -> Option<&'t str> {
        let text = self.string(mistakes)?;
        if text.is_empty() {
            self.refused(mistakes, "it is empty");
            return None;
        }
        self.fits_kernel(text, 0, mistakes)
    }

    /// `text`, if the kernel can pass it to a command. `prefix_len` counts bytes that stand in front of it in the same
    /// string, such as the `NAME=` of a variable.
    pub(super) fn fits_kernel(
        self,
        text: &'t str,
        prefix_len: usize,
        mistakes: &mut Mistakes,
    ) -> Option<&'t str> {
        let length = prefix_len + text.len() + 1; // with the closing NUL
        if text.contains('\0') {
            self.refused(mistakes, "it holds a NUL byte, which the system cannot pass on");
        } else if length > MAX_ARG_STRLEN {
            let why = format!("it has {length} bytes, and the kernel takes at most {MAX_ARG_STRLEN}");
            self.refused(mistakes, &why).hint("put the data into a file, and pass its name");
        } else {
            return Some(text);
        }
        None
    }

    pub(super) fn boolean(self, mistakes: &mut Mistakes) -> Option<bool> {
        let value = self.data().as_bool();
        if value.is_none() {
            self.wrong(mistakes, "true or false");
        }
        value
    }

    /// The value, if it is an integer of at most 64 bits.
    pub(super) fn as_integer(self) -> Option<i64> {
        let number = self.data().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// The value, if it is a finite number.
    pub(super) fn as_number(self) -> Option<f64> {
        let number: f64 = match self.data() {
            DeValue::Integer(_) => f64::from(i32::try_from(self.as_integer()?).ok()?),
            DeValue::Float(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// A whole number in `range`.
    pub(super) fn integer<N: WholeNumber>(
        self,
        range: RangeInclusive<N>,
        mistakes: &mut Mistakes,
    ) -> Option<N> {
        let number = self.as_integer().and_then(|number| N::try_from(number).ok());
        let taken = number.filter(|number| range.contains(number));
        if taken.is_none() {
            let allowed = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong(mistakes, &allowed);
        }
        taken
    }

    /// A duration with a unit.
    pub(super) fn duration(self, mistakes: &mut Mistakes) -> Option<Millis> {
        let DeValue::String(text) = self.data() else {
            let mistake = self.wrong(mistakes, "a duration with a unit, such as \"30s\"");
            if let DeValue::Integer(_) | DeValue::Float(_) = self.data()
                && let Some(hint) = with_units(&self.described())
            {
                mistake.hint(hint);
            }
            return None;
        };
        self.ok_or_refuse(Millis::parse(text), mistakes)
    }

    pub(super) fn duration_above_zero(self, mistakes: &mut Mistakes) -> Option<Millis> {
        let bare = match self.data() {
            DeValue::String(text) => text.trim().parse().ok(),
            _ => self.as_number(),
        };
        let duration = if bare == Some(0.0) { Millis(0) } else { self.duration(mistakes)? };
        if duration == Millis(0) {
            let hint = format!("leave `{}` out for none", self.key);
            self.wrong(mistakes, "above 0").hint(hint);
            return None;
        }
        Some(duration)
    }

    /// A size with a unit, in bytes.
    pub(super) fn size(self, mistakes: &mut Mistakes) -> Option<u64> {
        let DeValue::String(text) = self.data() else {
            let mistake = self.wrong(mistakes, "a size with a unit, such as \"64KiB\"");
            if let DeValue::Integer(number) = self.data() {
                let fits = |unit: &str| {
                    parse_size(&format!("{number}{unit}"))
                        .is_ok_and(|it| it <= JobDefinition::MAX_OUTPUT_LIMIT)
                };
                if fits("KiB") {
                    mistake.hint(format!("write \"{number}B\" for bytes or \"{number}KiB\" for kibibytes"));
                } else if fits("B") {
                    mistake.hint(format!("write \"{number}B\" for bytes"));
                }
            }
            return None;
        };
        self.ok_or_refuse(parse_size(text), mistakes)
    }

    /// The entries of an array. `allowed` describes the array, for the message about another value.
    pub(super) fn list(self, allowed: &str, mistakes: &mut Mistakes) -> Option<Vec<Value<'t>>> {
        let DeValue::Array(array) = self.data() else {
            self.wrong(mistakes, allowed);
            return None;
        };
        let entry = |node| Value { node, in_list: true, ..self };
        Some(array.iter().map(entry).collect())
    }

    /// The entries of a table. `allowed` describes the table, for the message about another value.
    pub(super) fn table(self, allowed: &str, mistakes: &mut Mistakes) -> Option<Vec<Entry<'t>>> {
        if let DeValue::Table(table) = self.data() {
            return Some(entries(table));
        }
        self.wrong(mistakes, allowed);
        None
    }
}

/// Reads the entries of a list. Entries that `read` refuses are left out, and a repeated entry is a mistake.
pub(super) fn distinct<'t, T: PartialEq>(
    values: &[Value<'t>],
    mistakes: &mut Mistakes,
    mut read: impl FnMut(Value<'t>, &mut Mistakes) -> Option<T>,
) -> Vec<(T, Span)> {
    let mut taken: Vec<(T, Span)> = Vec::new();
    for value in values {
        let Some(item) = read(*value, mistakes) else {
            continue;
        };
        if let Some((_, first)) = taken.iter().find(|(other, _)| *other == item) {
            let why = format!("{} is entered twice", value.described());
            value.refused(mistakes, &why).see("the first", first);
        } else {
            taken.push((item, value.at()));
        }
    }
    taken
}
