//! Tables for people: columns as wide as they need to be, the last one cut where the screen ends.

use anyhow::Result;
use unicode_width::UnicodeWidthStr;

use super::screen::{Screen, Tone, Written};

/// Between columns.
const GAP: usize = 2;

/// The last column gets no narrower than this before others are left out.
const LAST: usize = 24;

/// Rows of text under a heading.
pub struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    may_miss: Vec<usize>,
}

impl Table {
    /// A table with these columns.
    pub fn new(heading: &[&str]) -> Self {
        Self {
            heading: heading.iter().map(|text| (*text).to_owned()).collect(),
            rows: Vec::new(),
            right: Vec::new(),
            may_miss: Vec::new(),
        }
    }

    /// These columns are aligned to the right.
    #[must_use]
    pub fn right(mut self, columns: &[usize]) -> Self {
        self.right = columns.to_vec();
        self
    }

    /// These columns are left out where the screen is too narrow for them, the first of these first.
    #[must_use]
    pub fn may_miss(mut self, columns: &[usize]) -> Self {
        self.may_miss = columns.to_vec();
        self
    }

    /// Adds a row: plain text, made safe by the caller. States are painted here.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints it, and says what it had no room for.
    pub fn print(&self, screen: &mut Screen) -> Written {
        let left_out = self.print_rows(screen)?;
        tell_left_out(screen, &left_out)
    }

    /// Prints it. Gives the headings of the columns that it had no room for.
    pub fn print_rows(&self, screen: &mut Screen) -> Result<Vec<String>> {
        let widths = self.widths(screen.width());
        let heading = self.line(&self.heading, &widths, str::to_owned);
        let heading = screen.paint(Tone::Faint, heading.trim_end());
        screen.line(heading)?;
        for row in &self.rows {
            let line = self.line(row, &widths, |text| screen.paint_word(text));
            screen.line(line.trim_end())?;
        }
        let missing = self.heading.iter().zip(&widths).filter(|(_, width)| width.is_none());
        Ok(missing.map(|(heading, _)| heading.clone()).collect())
    }

    /// What each column may take; none where it is left out. The last one gives way, then columns that may miss, and
    /// then the widest, until the line fits.
    fn widths(&self, screen: usize) -> Vec<Option<usize>> {
        let lines = || std::iter::once(&self.heading).chain(&self.rows);
        let mut widths: Vec<Option<usize>> = (0..self.heading.len())
            .map(|column| lines().filter_map(|row| row.get(column)).map(|cell| cell.width()).max())
            .collect();
        let total = |widths: &[Option<usize>]| {
            let shown = widths.iter().flatten();
            shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1)
        };
        let narrow = |widths: &mut [Option<usize>]| {
            let over = total(widths).saturating_sub(screen);
            if let Some(Some(last)) = widths.last_mut() {
                *last = last.saturating_sub(over).max(LAST.min(*last));
            }
        };
        let natural = widths.last().copied().flatten();
        narrow(&mut widths);
        for column in &self.may_miss {
            if total(&widths) <= screen {
                break;
            }
            widths[*column] = None;
            if let Some(last) = widths.last_mut() {
                *last = natural;
            }
            narrow(&mut widths);
        }
        while total(&widths) > screen {
            let Some(widest) = widths.iter_mut().flatten().max().filter(|width| **width > 4) else { break };
            *widest -= 1;
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[Option<usize>], paint: impl Fn(&str) -> String) -> String {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let Some(width) = *width else { continue };
            let cell = cut(cell, width);
            let blank = " ".repeat(width.saturating_sub(cell.width()));
            let cell = paint(&cell);
            line.push_str(&if self.right.contains(&column) { blank + &cell } else { cell + &blank });
            line.push_str(&" ".repeat(GAP));
        }
        line
    }
}

/// A column that is not there would not be missed by whoever does not know of it.
pub fn tell_left_out(screen: &mut Screen, columns: &[String]) -> Written {
    if columns.is_empty() {
        return Ok(());
    }
    let columns = columns.join(", ");
    screen.aside("", &format!("left out: {columns}; a wider terminal or --json shows them"))
}

/// The text, or as much of it as fits, with a mark that something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        // Measured whole: a character may change the width of the one before it.
        if kept.width() >= width {
            kept.pop();
            break;
        }
    }
    kept + if width == 0 { "" } else { "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_what_it_takes_on_the_screen() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abcd", 0), "");
        let hearts = cut(&"\u{2764}\u{fe0f}".repeat(60), 30);
        assert!(hearts.width() <= 30, "{}", hearts.width());
    }

    #[test]
    fn the_last_column_gives_way_first() {
        let mut table = Table::new(&["id", "message"]);
        table.row(vec!["1".into(), "x".repeat(100)]);
        assert_eq!(table.widths(40), [Some(2), Some(36)]);
        assert_eq!(table.widths(usize::MAX), [Some(2), Some(100)]);
    }

    #[test]
    fn columns_that_may_miss_are_left_out_one_by_one() {
        let mut table = Table::new(&["id", "queue", "when", "message"]).may_miss(&[1, 2]);
        table.row(vec!["1".into(), "default".into(), "3m 20s ago".into(), "x".repeat(30)]);
        assert_eq!(table.widths(55), [Some(2), Some(7), Some(10), Some(30)]);
        assert_eq!(table.widths(49), [Some(2), Some(7), Some(10), Some(24)]);
        assert_eq!(table.widths(48), [Some(2), None, Some(10), Some(30)]);
        assert_eq!(table.widths(31), [Some(2), None, None, Some(27)]);
        assert_eq!(table.widths(12), [Some(2), None, None, Some(8)]);
    }
}
