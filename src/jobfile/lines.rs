//! Line numbers, found without counting from the top each time: a large file may hold a mistake in every line.

use super::mistake::Span;

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    /// Looks at `text` once.
    pub(super) fn new(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self([0].into_iter().chain(after_breaks).collect())
    }

    /// The number of the line where `at` begins, from 1.
    pub(super) fn of(&self, at: &Span) -> usize {
        self.0.partition_point(|start| *start <= at.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_belongs_to_its_line() {
        let lines = Lines::new("a\n\nb\n");
        assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|at| lines.of(&(at..at))), [1, 1, 2, 3, 3, 4, 4]);
    }
}
