//! Tables for people: as narrow as the screen asks for.

use anyhow::Result;
use unicode_width::UnicodeWidthStr;

use super::{Output, Style, Written};

/// Blanks between columns.
const GAP: usize = 2;

/// The place where a long text is shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shorten {
    /// For names, whose end tells them apart.
    Middle,
    /// For sentences.
    End,
}

/// A column keeps its width unless it may be shortened or dropped.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    heading: &'static str,
    right: bool,
    paint: Option<fn(&Output, &str) -> String>,
    shorten: Option<Shorten>,
    drop_rank: Option<u8>,
}

impl Column {
    pub const fn new(heading: &'static str) -> Self {
        Self { heading, right: false, paint: None, shorten: None, drop_rank: None }
    }

    /// Aligned to the right.
    #[must_use]
    pub const fn right(self) -> Self {
        Self { right: true, ..self }
    }

    /// States or outcomes, in their colours.
    #[must_use]
    pub const fn status(self) -> Self {
        Self { paint: Some(Output::paint_status), ..self }
    }

    /// Marks of outcomes, in their colours.
    #[must_use]
    pub const fn marks(self) -> Self {
        Self { paint: Some(Output::paint_marks), ..self }
    }

    /// Names: shortened in the middle.
    #[must_use]
    pub const fn name(self) -> Self {
        Self { shorten: Some(Shorten::Middle), ..self }
    }

    /// Text: shortened at its end.
    #[must_use]
    pub const fn text(self) -> Self {
        Self { shorten: Some(Shorten::End), ..self }
    }

    /// May be left out, the lowest rank first.
    #[must_use]
    pub const fn dropped(self, rank: u8) -> Self {
        Self { drop_rank: Some(rank), ..self }
    }

    /// A column is not shortened below this while another can be dropped.
    const fn floor(&self) -> usize {
        match self.shorten {
            Some(Shorten::Middle) => 10,
            Some(Shorten::End) => 14,
            None => usize::MAX,
        }
    }
}

/// A shortened column keeps at least this much.
const MIN_WIDTH: usize = 4;

pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row of plain text, made safe by the caller.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints the table, and the names of the columns that find no room.
    pub fn print(&self, out: &mut Output) -> Written {
        let left_out = self.print_rows(out)?;
        note_left_out(out, &left_out)
    }

    /// Prints the table. Gives the headings of the columns that find no room.
    pub fn print_rows(&self, out: &mut Output) -> Result<Vec<&'static str>> {
        let widths = self.widths(out.width());
        let heading: Vec<_> = self.columns.iter().map(|column| column.heading.to_owned()).collect();
        let heading = self.line(&heading, &widths, |_, text| text.to_owned());
        out.line(out.paint(Style::Faint, heading.trim_end()))?;
        for row in &self.rows {
            let paint = |column: &Column, text: &str| {
                column.paint.map_or_else(|| text.to_owned(), |paint| paint(out, text))
            };
            let line = self.line(row, &widths, paint);
            out.line(line.trim_end())?;
        }
        let missing = self.columns.iter().zip(&widths).filter(|(_, width)| width.is_none());
        Ok(missing.map(|(column, _)| column.heading).collect())
    }

    /// The width of each column; none for a dropped column.
    ///
    /// While the line is too long, the widest column that may be shortened is shortened, down to its floor. Then columns
    /// are dropped, one by one; if the line is still too long, the rest is shortened further.
    fn widths(&self, room: usize) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> =
            (0..self.columns.len()).map(|at| Some(self.natural(at))).collect();
        let mut drops: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at].drop_rank.is_some()).collect();
        drops.sort_by_key(|at| self.columns[*at].drop_rank);
        let mut drops = drops.into_iter();
        loop {
            let mut fitted = widths.clone();
            if self.shorten(&mut fitted, room, Column::floor) {
                return fitted;
            }
            let Some(dropped) = drops.next() else {
                self.shorten(&mut fitted, room, |column| column.shorten.map_or(usize::MAX, |_| MIN_WIDTH));
                return fitted;
            };
            widths[dropped] = None;
        }
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
        cells.max().unwrap_or(0).max(self.columns[at].heading.width())
    }

    /// Shortens the widest columns, none below its floor, until the line fits. Does it?
    fn shorten(&self, widths: &mut [Option<usize>], room: usize, floor: impl Fn(&Column) -> usize) -> bool {
        loop {
            let shown = widths.iter().flatten();
            let total = shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1);
            if total <= room {
                return true;
            }
            let columns = self.columns.iter().zip(widths.iter_mut());
            let widest = columns
                .filter_map(|(column, width)| width.as_mut().filter(|width| **width > floor(column)))
                .max();
            let Some(widest) = widest else { return false };
            *widest -= 1;
        }
    }

    fn line(
        &self,
        cells: &[String],
        widths: &[Option<usize>],
        paint: impl Fn(&Column, &str) -> String,
    ) -> String {
        let mut line = String::new();
        for ((column, cell), width) in self.columns.iter().zip(cells).zip(widths) {
            let Some(width) = *width else { continue };
            let cell = match column.shorten {
                Some(Shorten::Middle) => cut_middle(cell, width),
                _ => cut_end(cell, width),
            };
            let blank = " ".repeat(width.saturating_sub(cell.width()));
            let cell = paint(column, &cell);
            line.push_str(&if column.right { blank + &cell } else { cell + &blank });
            line.push_str(&" ".repeat(GAP));
        }
        line
    }
}

/// Names the columns that found no room.
pub fn note_left_out(out: &mut Output, columns: &[&str]) -> Written {
    if columns.is_empty() {
        return Ok(());
    }
    let columns = columns.join(", ");
    out.aside("", &format!("left out: {columns}; a wider terminal or --json shows them"))
}

/// The text, or its beginning and a mark.
fn cut_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    match width.checked_sub(1) {
        Some(rest) => first_columns(text.chars(), rest) + "…",
        None => String::new(),
    }
}

/// The text, or its beginning, a mark, and its end.
fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width || width < 3 {
        return cut_end(text, width);
    }
    let end: String = first_columns(text.chars().rev(), (width - 1) / 2).chars().rev().collect();
    first_columns(text.chars(), width - 1 - end.width()) + "…" + &end
}

/// As many characters as take no more columns than this.
fn first_columns(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut kept = String::new();
    for c in chars {
        kept.push(c);
        // Measured whole: a character may change the width of the one before it.
        if kept.width() > width {
            kept.pop();
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_the_columns_that_it_takes() {
        assert_eq!(cut_end("abc", 3), "abc");
        assert_eq!(cut_end("abcd", 3), "ab…");
        assert_eq!(cut_end("漢字漢字", 5), "漢字…");
        assert_eq!(cut_end("abcd", 0), "");
        let hearts = cut_end(&"\u{2764}\u{fe0f}".repeat(60), 30);
        assert!(hearts.width() <= 30, "{}", hearts.width());
        assert_eq!(cut_middle("nightly-backup", 14), "nightly-backup");
        assert_eq!(cut_middle("nightly-backup", 9), "nigh…ckup");
        assert_eq!(cut_middle("nightly-backup", 8), "nigh…kup");
    }

    #[test]
    fn a_narrow_table_shortens_then_drops_then_shortens_more() {
        let mut table = Table::new(&[
            Column::new("id").right(),
            Column::new("queue").name().dropped(1),
            Column::new("when"),
            Column::new("message").text(),
        ]);
        table.row(vec!["1".into(), "a-long-queue".into(), "3m 20s ago".into(), "x".repeat(30)]);
        for (room, widths) in [
            (usize::MAX, [Some(2), Some(12), Some(10), Some(30)]),
            (50, [Some(2), Some(12), Some(10), Some(20)]),
            (42, [Some(2), Some(10), Some(10), Some(14)]),
            (41, [Some(2), None, Some(10), Some(25)]),
            (25, [Some(2), None, Some(10), Some(9)]),
            (9, [Some(2), None, Some(10), Some(4)]),
        ] {
            assert_eq!(table.widths(room), widths, "{room}");
        }
    }
}
