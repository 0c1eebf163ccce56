//! Tables for the screen. Columns are shortened, and then left out, until a row fits into a line.

use console::measure_text_width;

use super::{Output, Style};
use crate::text::{cut_end, cut_middle};

/// The number of blanks between columns, and between those of a table that is too wide otherwise.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;

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
    /// No other column is dropped to make this one wider than that.
    floor: usize,
    /// The column is shortened to this before it is dropped.
    squeezed: usize,
    hidden_if_empty: bool,
    /// Counts the rows that are folded into one.
    counts_folded: bool,
}

impl Column {
    pub const fn new(title: &'static str) -> Self {
        Self {
            title,
            right: false,
            paint: None,
            shorten: None,
            drop_rank: None,
            floor: usize::MAX,
            squeezed: usize::MAX,
            hidden_if_empty: false,
            counts_folded: false,
        }
    }

    /// The number of the rows that are folded into one. Left out if none are.
    #[must_use]
    pub const fn folded(title: &'static str) -> Self {
        Self { hidden_if_empty: true, counts_folded: true, ..Self::new(title).right() }
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
        Self { shorten: Some(Shorten::Middle), floor: 14, squeezed: 14, ..self }
    }

    /// The label that tells jobs of one name apart: shortened in the middle, and left out if no job has one.
    #[must_use]
    pub const fn label() -> Self {
        Self {
            floor: 10,
            squeezed: 6,
            hidden_if_empty: true,
            drop_rank: Some(u8::MAX),
            ..Self::new("label").name()
        }
    }

    /// Text: shortened at its end.
    #[must_use]
    pub const fn text(self) -> Self {
        Self { shorten: Some(Shorten::End), floor: 10, squeezed: 10, ..self }
    }

    /// May be left out, the lowest rank first.
    #[must_use]
    pub const fn dropped(self, rank: u8) -> Self {
        Self { drop_rank: Some(rank), ..self }
    }
}

/// The widths to which names and texts may be shortened on a screen that is too narrow for all of them at their floors: as wide
/// as they are, then less.
const MIN_WIDTHS: [(usize, usize); 4] = [(usize::MAX, usize::MAX), (10, 10), (10, 4), (4, 4)];

/// Gives the text of a row in one column. The text must be safe for a terminal.
type Cell<'a, R> = Box<dyn Fn(&R) -> String + 'a>;

/// A table of rows of type `R`.
pub struct Table<'a, R> {
    columns: Vec<Column>,
    cells: Vec<Cell<'a, R>>,
    rows: Vec<Vec<String>>,
    /// The number of rows that are folded into the last one, and their group.
    folded: u64,
    group: Option<i64>,
}

impl<'a, R> Table<'a, R> {
    pub const fn new() -> Self {
        Self { columns: Vec::new(), cells: Vec::new(), rows: Vec::new(), folded: 0, group: None }
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
        self.group = None;
        self.add(self.texts(row));
    }

    /// Adds a row; if it is of the same group as the last one, and differs from it in nothing but its first column, that one counts
    /// it.
    pub fn folded_row(&mut self, row: &R, group: i64) {
        let texts = self.texts(row);
        let is_same_group = self.group.replace(group) == Some(group);
        let counts = |at: usize| self.columns[at].counts_folded;
        let is_equal = |last: &[String]| (1..texts.len()).all(|at| counts(at) || last[at] == texts[at]);
        match (
            self.rows.last_mut().filter(|last| is_same_group && is_equal(last)),
            (0..texts.len()).find(|at| counts(*at)),
        ) {
            (Some(last), Some(count)) => {
                self.folded += 1;
                last[count] = format!("×{}", self.folded);
            }
            _ => self.add(texts),
        }
    }

    fn texts(&self, row: &R) -> Vec<String> {
        self.cells.iter().map(|cell| cell(row)).collect()
    }

    fn add(&mut self, texts: Vec<String>) {
        self.rows.push(texts);
        self.folded = 1;
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
    pub fn print(&self, out: &mut Output) {
        let left_out = self.print_rows(out);
        note_left_out(out, &left_out);
    }

    /// Prints the table. Returns the titles of the columns that were left out.
    pub fn print_rows(&self, out: &mut Output) -> Vec<&'static str> {
        let (widths, gap) = self.widths(out.width());
        let titles: Vec<_> = self.columns.iter().map(|column| column.title.to_owned()).collect();
        let titles = self.line(&titles, &widths, gap, |_, text| text.to_owned());
        out.line(out.paint(Style::Faint, titles.trim_end()));
        for row in &self.rows {
            let paint = |column: &Column, text: &str| {
                column.paint.map_or_else(|| text.to_owned(), |paint| paint(out, text))
            };
            let line = self.line(row, &widths, gap, paint);
            out.line(line.trim_end());
        }
        let missing = (0..self.columns.len()).filter(|at| widths[*at].is_none() && !self.is_hidden(*at));
        missing.map(|at| self.columns[at].title).collect()
    }

    fn is_hidden(&self, at: usize) -> bool {
        self.columns[at].hidden_if_empty
            && self.rows.iter().all(|row| row.get(at).is_none_or(String::is_empty))
    }

    /// The width of each column, none for a column that is left out; and the blanks between them.
    ///
    /// While the line is too long, the widest column that may be shortened is shortened, down to its floor. Then columns
    /// are dropped, one by one; if the line is still too long, the columns move together, and the rest is shortened further.
    fn widths(&self, room: usize) -> (Vec<Option<usize>>, usize) {
        let natural = |at| (!self.is_hidden(at)).then(|| self.natural(at));
        let mut widths: Vec<Option<usize>> = (0..self.columns.len()).map(natural).collect();
        let mut drops: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at].drop_rank.is_some()).collect();
        drops.sort_by_key(|at| self.columns[*at].drop_rank);
        let mut drops = drops.into_iter();
        loop {
            let mut fitted = widths.clone();
            if self.shorten(&mut fitted, room, GAP, |column| column.floor) {
                return (fitted, GAP);
            }
            let Some(dropped) = drops.next() else {
                for (name, text) in MIN_WIDTHS {
                    let floor = |column: &Column| match column.shorten {
                        None => usize::MAX,
                        Some(Shorten::Middle) => column.floor.min(name),
                        Some(Shorten::End) => column.floor.min(text),
                    };
                    if self.shorten(&mut fitted, room, NARROW_GAP, floor) {
                        break;
                    }
                }
                return (fitted, NARROW_GAP);
            };
            let Column { floor, squeezed, .. } = self.columns[dropped];
            if squeezed < floor && self.shorten(&mut fitted, room, GAP, |column| column.squeezed) {
                return (fitted, GAP);
            }
            widths[dropped] = None;
        }
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| measure_text_width(cell));
        cells.max().unwrap_or(0).max(measure_text_width(self.columns[at].title))
    }

    /// Shortens the widest column again and again until the line fits, but none below its floor. True if the line fits.
    fn shorten(
        &self,
        widths: &mut [Option<usize>],
        room: usize,
        gap: usize,
        floor: impl Fn(&Column) -> usize,
    ) -> bool {
        loop {
            let shown = widths.iter().flatten();
            let total = shown.clone().sum::<usize>() + gap * shown.count().saturating_sub(1);
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
        gap: usize,
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
            line.push_str(&" ".repeat(gap));
        }
        line
    }
}

/// Names the columns that were left out.
pub fn note_left_out(out: &mut Output, columns: &[&str]) {
    if !columns.is_empty() {
        let columns = columns.join(", ");
        out.aside("", &format!("left out: {columns}; a wider terminal or --json shows them"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_differ_in_their_first_column_alone_are_counted_in_the_last_of_them() {
        let mut table = Table::new()
            .column(Column::new("id").right(), |(id, _): &(u32, &str)| id.to_string())
            .column(Column::folded("jobs"), |_| String::new())
            .column(Column::new("name"), |(_, name)| (*name).to_owned());
        for (id, name, group) in [
            (9, "a", Some(1)),
            (8, "a", Some(1)),
            (7, "a", Some(1)),
            (6, "b", Some(1)),
            (5, "a", Some(1)),
            (4, "a", None),
            (3, "a", Some(1)),
            (2, "a", Some(2)),
        ] {
            match group {
                Some(group) => table.folded_row(&(id, name), group),
                None => table.row(&(id, name)),
            }
        }
        let rows: Vec<String> = table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["9 ×3 a", "6  b", "5  a", "4  a", "3  a", "2  a"]);
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
        let fitted = |room| {
            let (widths, gap) = table.widths(room);
            (widths.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>(), gap)
        };
        for (room, widths, gap) in [
            (usize::MAX, [2, 12, 10, 30], 2),
            (50, [2, 12, 10, 20], 2),
            (40, [2, 12, 10, 10], 2),
            (39, [2, 0, 10, 23], 2),
            (26, [2, 0, 10, 10], 2),
            (25, [2, 0, 10, 10], 1),
            (23, [2, 0, 10, 9], 1),
            (9, [2, 0, 10, 4], 1),
        ] {
            assert_eq!(fitted(room), (widths.to_vec(), gap), "{room}");
        }
    }

    #[test]
    fn a_name_keeps_its_columns_and_a_label_goes_where_there_is_none_or_no_room() {
        let table = |label: &'static str| {
            let mut table = Table::new()
                .column(Column::new("id").right(), |()| "200".to_owned())
                .column(Column::new("name").name(), |()| "fetch-every-page-of-it".to_owned())
                .column(Column::label(), move |()| label.to_owned())
                .column(Column::new("queue").name().dropped(1), |()| "a-long-queue".to_owned())
                .column(Column::new("state").status(), |()| "succeeded".to_owned())
                .column(Column::new("runs"), |()| "1/3".to_owned())
                .column(Column::new("when"), |()| "3m 20s ago".to_owned());
            table.row(&());
            move |room: usize| {
                let widths = table.widths(room).0.into_iter().take(4);
                widths.map(Option::unwrap_or_default).collect::<Vec<_>>()
            }
        };
        let with_label = table("https://mirror.example/some/file.tgz");
        assert_eq!(with_label(200), [3, 22, 36, 12]);
        assert_eq!(with_label(80), [3, 15, 15, 12]);
        assert_eq!(with_label(60), [3, 14, 10, 0]);
        assert_eq!(with_label(57), [3, 14, 7, 0]);
        assert_eq!(with_label(55), [3, 21, 0, 0]);
        assert_eq!(with_label(40), [3, 10, 0, 0]);
        assert_eq!(table("")(60), [3, 22, 0, 0]);
    }
}
