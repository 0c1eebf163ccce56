//! What was meant by a command line that is none: tips by meaning, where the library knows only of spelling.

mod newest;
mod options;
mod verbs;

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub use newest::{named, words};

/// The error with tips for what these arguments were meant to be; as it was where nothing is known of them.
pub fn with_tips(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let typed: Vec<_> = args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let tips = match error.kind() {
        ErrorKind::InvalidSubcommand => context(&error, ContextKind::InvalidSubcommand).map(verbs::tips),
        ErrorKind::UnknownArgument => {
            context(&error, ContextKind::InvalidArg).map(|option| options::tips(&typed, option))
        }
        ErrorKind::ValueValidation => newest::tip(&error, &typed).map(|tip| vec![tip]),
        _ => None,
    };
    if let Some(tips) = tips.filter(|tips| !tips.is_empty()) {
        // What is near by its letters alone would lead astray.
        for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
            error.remove(kind);
        }
        let tips = tips.into_iter().map(StyledStr::from).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
