//! Tables for the screen. Columns are shortened, and then left out, until a row fits into a line.

use anyhow::Result;
use console::measure_text_width;

use super::{Output, Style, Written};

/// The number of blanks between columns.
const GAP: usize = 2;

/// Where a long text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shorten {
    /// For names, whose end tells them apart.
    Middle,
    /// For sentences.
    End,
}

/// How a column looks. It is as wide as its widest cell, unless it may be shortened or dropped.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    right: bool,
    paint: Option<fn(&Output, &str) -> String>,
    shorten: Option<Shorten>,
    drop_rank: Option<u8>,
}

impl Column {
    pub const fn new(title: &'static str) -> Self {
        Self { title, right: false, paint: None, shorten: None, drop_rank: None }
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

    /// The column is not shortened below this while another column could be dropped instead.
    const fn floor(&self) -> usize {
        match self.shorten {
            Some(Shorten::Middle) => 10,
            Some(Shorten::End) => 14,
            None => usize::MAX,
        }
    }
}

/// No column is shortened below this width.
const MIN_WIDTH: usize = 4;

/// Gives the text of a row in one column. The text must be safe for a terminal.
type Cell<'a, R> = Box<dyn Fn(&R) -> String + 'a>;

/// A table of rows of type `R`.
pub struct Table<'a, R> {
    columns: Vec<Column>,
    cells: Vec<Cell<'a, R>>,
    rows: Vec<Vec<String>>,
}

impl<'a, R> Table<'a, R> {
    pub const fn new() -> Self {
        Self { columns: Vec::new(), cells: Vec::new(), rows: Vec::new() }
    }

    /// Adds a column, and the function that gives its text for a row.
    #[must_use]
    pub fn column(mut self, column: Column, cell: impl Fn(&R) -> String + 'a) -> Self {
        self.columns.push(column);
        self.cells.push(Box::new(cell));
        self
    }

    /// Adds a column that only some tables need.
    #[must_use]
    pub fn column_if(self, is_needed: bool, column: Column, cell: impl Fn(&R) -> String + 'a) -> Self {
        if is_needed { self.column(column, cell) } else { self }
    }

    pub fn row(&mut self, row: &R) {
        self.rows.push(self.cells.iter().map(|cell| cell(row)).collect());
    }

    pub fn rows<'r>(&mut self, rows: impl IntoIterator<Item = &'r R>)
    where
        R: 'r,
    {
        for row in rows {
            self.row(row);
        }
    }

    /// Prints the table, and names the columns that were left out.
    pub fn print(&self, out: &mut Output) -> Written {
        let left_out = self.print_rows(out)?;
        note_left_out(out, &left_out)
    }

    /// Prints the table. Returns the titles of the columns that were left out.
    pub fn print_rows(&self, out: &mut Output) -> Result<Vec<&'static str>> {
        let widths = self.widths(out.width());
        let titles: Vec<_> = self.columns.iter().map(|column| column.title.to_owned()).collect();
        let titles = self.line(&titles, &widths, |_, text| text.to_owned());
        out.line(out.paint(Style::Faint, titles.trim_end()))?;
        for row in &self.rows {
            let paint = |column: &Column, text: &str| {
                column.paint.map_or_else(|| text.to_owned(), |paint| paint(out, text))
            };
            let line = self.line(row, &widths, paint);
            out.line(line.trim_end())?;
        }
        let missing = self.columns.iter().zip(&widths).filter(|(_, width)| width.is_none());
        Ok(missing.map(|(column, _)| column.title).collect())
    }

    /// The width of each column; none for a column that is left out.
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
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| measure_text_width(cell));
        cells.max().unwrap_or(0).max(measure_text_width(self.columns[at].title))
    }

    /// Shortens the widest column again and again until the line fits, but none below its floor. True if the line fits.
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
            let blank = " ".repeat(width.saturating_sub(measure_text_width(&cell)));
            let cell = paint(column, &cell);
            line.push_str(&if column.right { blank + &cell } else { cell + &blank });
            line.push_str(&" ".repeat(GAP));
        }
        line
    }
}

/// Names the columns that were left out.
pub fn note_left_out(out: &mut Output, columns: &[&str]) -> Written {
    if columns.is_empty() {
        return Ok(());
    }
    let columns = columns.join(", ");
    out.aside("", &format!("left out: {columns}; a wider terminal or --json shows them"))
}

/// The text, or its beginning and a mark.
fn cut_end(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    match width.checked_sub(1) {
        Some(rest) => first_columns(text.chars(), rest) + "…",
        None => String::new(),
    }
}

/// The text, or its beginning, a mark, and its end.
fn cut_middle(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width || width < 3 {
        return cut_end(text, width);
    }
    let end: String = first_columns(text.chars().rev(), (width - 1) / 2).chars().rev().collect();
    first_columns(text.chars(), width - 1 - measure_text_width(&end)) + "…" + &end
}

/// The first characters, as many as fit in this many columns.
fn first_columns(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut kept = String::new();
    for c in chars {
        kept.push(c);
        // The whole text is measured, because a character may change the width of the one before it.
        if measure_text_width(&kept) > width {
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
        assert!(measure_text_width(&hearts) <= 30, "{}", measure_text_width(&hearts));
        assert_eq!(cut_middle("nightly-backup", 14), "nightly-backup");
        assert_eq!(cut_middle("nightly-backup", 9), "nigh…ckup");
        assert_eq!(cut_middle("nightly-backup", 8), "nigh…kup");
    }

    #[test]
    fn a_narrow_table_shortens_then_drops_then_shortens_more() {
        let mut table = Table::new()
            .column(Column::new("id").right(), |_| "1".to_owned())
            .column(Column::new("queue").name().dropped(1), |_| "a-long-queue".to_owned())
            .column_if(false, Column::new("more"), |_| "more".to_owned())
            .column(Column::new("when"), |_| "3m 20s ago".to_owned())
            .column(Column::new("message").text(), |text: &&str| text.repeat(30));
        table.row(&"x");
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
