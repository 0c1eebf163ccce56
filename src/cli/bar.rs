//! Bars of progress: on standard error, and only where a person looks on.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use super::args::Global;

/// A bar of this form; hidden where nobody would see it, or where it could only be printed again and again.
pub fn new(global: &Global, form: &str) -> ProgressBar {
    if global.quiet || !draws(&io::stderr()) {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style)
}

/// A terminal that can move its cursor.
pub fn draws(stderr: &io::Stderr) -> bool {
    stderr.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
