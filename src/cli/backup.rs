//! `runner backup`

use serde_json::json;

use super::args::{Backup, Global};
use super::bar::Bar;
use super::failure::{Failure, status};
use super::place;
use super::screen::Screen;

/// Copies the database, never over an existing file.
pub fn run(global: &Global, asked: &Backup) -> Result<u8, Failure> {
    let store = place::open(global)?;
    let shown = place::display(&asked.target);
    if asked.target.symlink_metadata().is_ok() {
        return Err(Failure::new(status::EXISTS, format!("{shown} exists and was left as it is"))
            .hint("name a file that does not exist"));
    }
    let mut bar = Bar::new(global, "{percent}% copied");
    store.backup(&asked.target, &mut |pages, left| {
        bar.set(pages - left, pages);
    })?;
    drop(bar);
    let mut screen = Screen::new(global);
    if screen.json && !screen.quiet {
        screen.object(&json!({"backup": asked.target.display().to_string()}))?;
    } else if !screen.quiet {
        screen.line(format!("copied to {shown}"))?;
    }
    screen.flush()?;
    Ok(0)
}
