//! Tables for people: columns as wide as they need to be, the last one cut where the screen ends.

use unicode_width::UnicodeWidthStr;

use super::screen::{Screen, Tone, Written};

/// Between columns.
const GAP: usize = 2;

/// Rows of text under a heading.
pub struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    /// A table with these columns.
    pub fn new(heading: &[&str]) -> Self {
        Self {
            heading: heading.iter().map(|text| (*text).to_owned()).collect(),
            rows: Vec::new(),
            right: Vec::new(),
        }
    }

    /// These columns are aligned to the right.
    #[must_use]
    pub fn right(mut self, columns: &[usize]) -> Self {
        self.right = columns.to_vec();
        self
    }

    /// Adds a row: plain text, made safe by the caller. States are painted here.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints it.
    pub fn print(&self, screen: &mut Screen) -> Written {
        let widths = self.widths(screen.width());
        let heading = self.line(&self.heading, &widths, str::to_owned);
        let heading = screen.paint(Tone::Faint, heading.trim_end());
        screen.line(heading)?;
        for row in &self.rows {
            let line = self.line(row, &widths, |text| screen.paint_word(text));
            screen.line(line.trim_end())?;
        }
        Ok(())
    }

    /// What each column may take. The last one gives way, and then the widest, until the line fits.
    fn widths(&self, screen: usize) -> Vec<usize> {
        let lines = || std::iter::once(&self.heading).chain(&self.rows);
        let mut widths: Vec<usize> = (0..self.heading.len())
            .map(|column| {
                lines().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
            })
            .collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        let total = |widths: &[usize]| widths.iter().sum::<usize>() + gaps;
        if let Some(last) = widths.len().checked_sub(1) {
            let over = total(&widths).saturating_sub(screen);
            widths[last] = widths[last].saturating_sub(over).max(widths[last].min(16));
        }
        while total(&widths) > screen {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > 4) else { break };
            *widest -= 1;
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize], paint: impl Fn(&str) -> String) -> String {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = cut(cell, *width);
            let blank = " ".repeat(width.saturating_sub(cell.width()));
            let cell = paint(&cell);
            line.push_str(&if self.right.contains(&column) { blank + &cell } else { cell + &blank });
            line.push_str(&" ".repeat(GAP));
        }
        line
    }
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
        assert_eq!(table.widths(40), [2, 36]);
        assert_eq!(table.widths(usize::MAX), [2, 100]);
    }
}
