//! Finds the conditions in the text of a statement, and drops one.

use std::ops::Range;

/// A condition that a statement makes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Guard {
    /// The statement.
    pub sql: String,
    /// Where in it the condition stands.
    place: (usize, usize),
    /// One of several ways to be let through, not something that all must meet.
    is_way: bool,
}

impl Guard {
    /// The condition, with single spaces.
    pub fn condition(&self) -> String {
        spaced(&self.sql[self.place.0..self.place.1])
    }

    /// The statement up to the end of the condition.
    pub fn up_to_it(&self) -> String {
        spaced(&self.sql[..self.place.1])
    }

    /// The statement without it. Its parameters stay, so that they can still be bound.
    pub fn dropped(&self) -> String {
        let (start, end) = self.place;
        let (before, condition, after) = (&self.sql[..start], &self.sql[start..end], &self.sql[end..]);
        let void = if self.is_way { "AND 0" } else { "OR 1" };
        format!("{before}(({condition}) {void}){after}")
    }
}

/// Words that end an expression. What follows one of the first three is a condition also where it stands alone.
const ENDS: [&str; 27] = [
    "WHERE",
    "ON",
    "HAVING",
    "SELECT",
    "FROM",
    "GROUP",
    "ORDER",
    "BY",
    "LIMIT",
    "UNION",
    "ALL",
    "RETURNING",
    "SET",
    "VALUES",
    "JOIN",
    "LEFT",
    "AS",
    "CONFLICT",
    "DO",
    "WHEN",
    "THEN",
    "ELSE",
    "CASE",
    "END",
    "UPDATE",
    "INSERT",
    ",",
];

/// What stands between two ends: operands, and the words between them.
struct Region {
    is_condition: bool,
    from: usize,
    operands: Vec<Range<usize>>,
    joints: Vec<&'static str>,
    /// The next AND belongs to a BETWEEN.
    between: bool,
}

impl Region {
    fn new(is_condition: bool, from: usize) -> Self {
        Self { is_condition, from, operands: Vec::new(), joints: Vec::new(), between: false }
    }

    fn joint(&mut self, word: &'static str, at: Range<usize>) {
        self.operands.push(self.from..at.start);
        self.joints.push(word);
        self.from = at.end;
    }

    fn close(mut self, sql: &str, end: usize, found: &mut Vec<Guard>) {
        self.operands.push(self.from..end);
        if !self.is_condition && self.joints.is_empty() {
            return;
        }
        for (n, operand) in self.operands.iter().enumerate() {
            let text = &sql[operand.clone()];
            let start = operand.start + (text.len() - text.trim_start().len());
            let place = (start, start + text.trim().len());
            let beside: Vec<_> =
                n.checked_sub(1).into_iter().chain([n]).filter_map(|joint| self.joints.get(joint)).collect();
            let is_way = !beside.is_empty() && beside.iter().all(|joint| **joint == "OR");
            if place.0 < place.1 {
                found.push(Guard { sql: sql.to_owned(), place, is_way });
            }
        }
    }
}

/// Every condition of this statement, also in the queries within it.
pub(super) fn guards(sql: &str) -> Vec<Guard> {
    let mut found = Vec::new();
    let mut regions = vec![Region::new(false, 0)];
    for place in words(sql) {
        let word = &sql[place.clone()];
        let region = regions.last_mut().unwrap();
        match word {
            "(" => regions.push(Region::new(false, place.end)),
            ")" => regions.pop().unwrap().close(sql, place.start, &mut found),
            "BETWEEN" => region.between = true,
            "AND" if region.between => region.between = false,
            "AND" => region.joint("AND", place),
            "OR" => region.joint("OR", place),
            _ => {
                if let Some(end) = ENDS.iter().position(|end| *end == word) {
                    let next = Region::new(end < 3, place.end);
                    std::mem::replace(region, next).close(sql, place.start, &mut found);
                }
            }
        }
    }
    regions.pop().unwrap().close(sql, sql.len(), &mut found);
    assert!(regions.is_empty(), "unbalanced: {sql}");
    found
}

/// Where the words, parentheses and commas of a statement stand; what is quoted is one word.
fn words(sql: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut quoted, mut in_word) = (false, false);
    for (at, letter) in sql.char_indices() {
        let belongs = quoted || letter == '\'' || letter.is_alphanumeric() || "_?.".contains(letter);
        quoted ^= letter == '\'';
        match found.last_mut() {
            Some(last) if belongs && in_word => last.end = at + letter.len_utf8(),
            _ if belongs || "(),".contains(letter) => found.push(at..at + letter.len_utf8()),
            _ => {}
        }
        in_word = belongs;
    }
    found
}

pub(super) fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn conditions_are_found_wherever_they_stand() {
    let found =
        |sql: &str| -> Vec<String> { guards(sql).iter().map(|guard| spaced(&guard.dropped())).collect() };
    assert_eq!(found("UPDATE t SET a = 1, b = 'x AND y'"), [""; 0]);
    assert_eq!(found("DELETE FROM t WHERE id = ?1"), ["DELETE FROM t WHERE ((id = ?1) OR 1)"]);
    assert_eq!(
        found("SELECT a AND b FROM t WHERE n BETWEEN 1 AND 2 AND (c IS NULL OR c > ?3) ORDER BY a"),
        [
            "SELECT ((a) OR 1) AND b FROM t WHERE n BETWEEN 1 AND 2 AND (c IS NULL OR c > ?3) ORDER BY a",
            "SELECT a AND ((b) OR 1) FROM t WHERE n BETWEEN 1 AND 2 AND (c IS NULL OR c > ?3) ORDER BY a",
            "SELECT a AND b FROM t WHERE n BETWEEN 1 AND 2 AND (((c IS NULL) AND 0) OR c > ?3) ORDER BY a",
            "SELECT a AND b FROM t WHERE n BETWEEN 1 AND 2 AND (c IS NULL OR ((c > ?3) AND 0)) ORDER BY a",
            "SELECT a AND b FROM t WHERE ((n BETWEEN 1 AND 2) OR 1) AND (c IS NULL OR c > ?3) ORDER BY a",
            "SELECT a AND b FROM t WHERE n BETWEEN 1 AND 2 AND (((c IS NULL OR c > ?3)) OR 1) ORDER BY a",
        ]
    );
    assert_eq!(
        found("SELECT 1 FROM t AS a JOIN u ON u.id = a.id WHERE NOT EXISTS (SELECT 1 FROM v WHERE n = 1)"),
        [
            "SELECT 1 FROM t AS a JOIN u ON ((u.id = a.id) OR 1) WHERE NOT EXISTS (SELECT 1 FROM v WHERE n = 1)",
            "SELECT 1 FROM t AS a JOIN u ON u.id = a.id WHERE NOT EXISTS (SELECT 1 FROM v WHERE ((n = 1) OR 1))",
            "SELECT 1 FROM t AS a JOIN u ON u.id = a.id WHERE ((NOT EXISTS (SELECT 1 FROM v WHERE n = 1)) OR 1)",
        ]
    );
}
