//! Values of the parsed file with their places, and what may be read from them.
//!
//! Each getter either gives the value or records a mistake that says what was found and what may stand there.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::draw::visible;
use super::mistake::{Found, Mistake, Span};
use crate::model::LONGEST_STRING;
use crate::text::{Millis, parse_size};

/// `key = value`, or a table and its header.
pub(super) struct Entry<'t> {
    /// The key.
    pub key: &'t str,
    /// Where the key stands.
    pub at: Span,
    /// Its value.
    pub value: Value<'t>,
}

/// A value, and the key that it was given to.
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
    /// Where it stands; of a table its header, or its first key.
    pub(super) fn at(self) -> Span {
        self.node.span()
    }

    /// The value itself, where its type decides.
    pub(super) fn data(self) -> &'t DeValue<'t> {
        self.node.get_ref()
    }

    /// Records that it is not what is `allowed` here.
    pub(super) fn wrong<'f>(self, found: &'f mut Found, allowed: &str) -> &'f mut Mistake {
        let what = format!("{} must be {allowed}, not {}", self.name(), self.described());
        found.add(&self.at(), what)
    }

    /// Records `why` it cannot be taken.
    pub(super) fn refused<'f>(self, found: &'f mut Found, why: &str) -> &'f mut Mistake {
        found.add(&self.at(), format!("{}: {why}", self.name()))
    }

    /// What the rules `read` out of it; where they refuse it, that is recorded.
    pub(super) fn taken<T>(self, read: Result<T, String>, found: &mut Found) -> Option<T> {
        match read {
            Ok(taken) => Some(taken),
            Err(why) => {
                self.refused(found, &why);
                None
            }
        }
    }

    fn name(self) -> String {
        if self.in_list { format!("an entry of `{}`", self.key) } else { format!("`{}`", self.key) }
    }

    fn described(self) -> String {
        match self.data() {
            DeValue::String(text) if text.chars().count() > 60 => "this string".into(),
            DeValue::String(text) => format!("{:?}", visible(text)),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(_) => "a date or time".into(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
        }
    }

    /// A string.
    pub(super) fn string(self, found: &mut Found) -> Option<&'t str> {
        if let DeValue::String(text) = self.data() {
            return Some(text);
        }
        let mistake = self.wrong(found, "a string");
        if matches!(self.data(), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) {
            mistake.hint(format!("write \"{}\"", self.described()));
        }
        None
    }

    /// The text of an error code; a bare number was meant as an exit status.
    pub(super) fn code(self, found: &mut Found) -> Option<&'t str> {
        if !matches!(self.data(), DeValue::Integer(_)) {
            return self.string(found);
        }
        let hint = format!("write \"EXIT_{}\", or the name that `exit_codes` gives it", self.described());
        self.wrong(found, "a string").hint(hint);
        None
    }

    /// A string that is neither empty nor holds a NUL, which no path, command or variable can.
    pub(super) fn text(self, found: &mut Found) -> Option<&'t str> {
        let text = self.string(found)?;
        if text.is_empty() {
            self.refused(found, "it is empty");
            return None;
        }
        self.passed_on(text, 0, found)
    }

    /// `text`, unless no command could be given it behind so many other bytes.
    pub(super) fn passed_on(self, text: &'t str, before: usize, found: &mut Found) -> Option<&'t str> {
        let length = before + text.len() + 1; // with the NUL that closes it
        if text.contains('\0') {
            self.refused(found, "it holds a NUL byte, which the system cannot pass on");
        } else if length > LONGEST_STRING {
            let why = format!("it has {length} bytes, and the kernel takes at most {LONGEST_STRING}");
            self.refused(found, &why).hint("put the data into a file, and pass its name");
        } else {
            return Some(text);
        }
        None
    }

    /// `true` or `false`.
    pub(super) fn boolean(self, found: &mut Found) -> Option<bool> {
        let value = self.data().as_bool();
        if value.is_none() {
            self.wrong(found, "true or false");
        }
        value
    }

    /// The integer, if it is one that fits.
    pub(super) fn as_integer(self) -> Option<i64> {
        let number = self.data().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// The number, if it is one; never infinite.
    pub(super) fn as_number(self) -> Option<f64> {
        let number: f64 = match self.data() {
            DeValue::Integer(_) => f64::from(i32::try_from(self.as_integer()?).ok()?),
            DeValue::Float(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// A whole number in `range`.
    pub(super) fn integer<N>(self, range: RangeInclusive<N>, found: &mut Found) -> Option<N>
    where
        N: Copy + PartialOrd + TryFrom<i64> + std::fmt::Display,
    {
        let number = self.as_integer().and_then(|number| N::try_from(number).ok());
        let taken = number.filter(|number| range.contains(number));
        if taken.is_none() {
            let allowed = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong(found, &allowed);
        }
        taken
    }

    /// A duration with a unit.
    pub(super) fn duration(self, found: &mut Found) -> Option<Millis> {
        let DeValue::String(text) = self.data() else {
            let mistake = self.wrong(found, "a duration with a unit, such as \"30s\"");
            if let DeValue::Integer(_) | DeValue::Float(_) = self.data() {
                let number = self.described();
                mistake.hint(format!(
                    "write \"{number}s\" for seconds, \"{number}m\" for minutes or \"{number}ms\" for milliseconds"
                ));
            }
            return None;
        };
        self.taken(Millis::parse(text), found)
    }

    /// A duration above 0.
    pub(super) fn duration_above_zero(self, found: &mut Found) -> Option<Millis> {
        let duration = self.duration(found)?;
        if duration == Millis(0) {
            let hint = format!("for none at all leave `{}` out", self.key);
            self.wrong(found, "above 0").hint(hint);
            return None;
        }
        Some(duration)
    }

    /// A size with a unit, in bytes.
    pub(super) fn size(self, found: &mut Found) -> Option<u64> {
        let DeValue::String(text) = self.data() else {
            let mistake = self.wrong(found, "a size with a unit, such as \"64KiB\"");
            if let DeValue::Integer(number) = self.data() {
                mistake.hint(format!("write \"{number}B\" for bytes or \"{number}KiB\" for kibibytes"));
            }
            return None;
        };
        self.taken(parse_size(text), found)
    }

    /// The entries of an array of what is `allowed`.
    pub(super) fn list(self, allowed: &str, found: &mut Found) -> Option<Vec<Value<'t>>> {
        let DeValue::Array(array) = self.data() else {
            let mistake = self.wrong(found, allowed);
            if let DeValue::String(text) = self.data() {
                mistake.hint(format!("write [{:?}]", visible(text)));
            }
            return None;
        };
        let entry = |node| Value { node, in_list: true, ..self };
        Some(array.iter().map(entry).collect())
    }

    /// The entries of a table of what is `allowed`.
    pub(super) fn table(self, allowed: &str, found: &mut Found) -> Option<Vec<Entry<'t>>> {
        if let DeValue::Table(table) = self.data() {
            return Some(entries(table));
        }
        self.wrong(found, allowed);
        None
    }
}

/// What `read` makes of each of `values`, without those it refuses; one that came before is a mistake.
pub(super) fn distinct<'t, T: PartialEq>(
    values: &[Value<'t>],
    found: &mut Found,
    mut read: impl FnMut(Value<'t>, &mut Found) -> Option<T>,
) -> Vec<(T, Span)> {
    let mut taken: Vec<(T, Span)> = Vec::new();
    for value in values {
        let Some(item) = read(*value, found) else {
            continue;
        };
        if let Some((_, first)) = taken.iter().find(|(other, _)| *other == item) {
            value
                .refused(found, &format!("{} is entered twice", value.described()))
                .see("it stands first", first);
        } else {
            taken.push((item, value.at()));
        }
    }
    taken
}
