//! What may be typed after the verbs that print what other programs read: shells, `man`, editors.

use clap::{Args, ValueEnum};

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(runner completions bash)                    in ~/.bashrc
  source <(runner completions zsh)                     in ~/.zshrc, after compinit
  runner completions fish > ~/.config/fish/completions/runner.fish
  eval (runner completions elvish | slurp)             in ~/.config/elvish/rc.elv
  runner completions powershell | Out-String | Invoke-Expression

The shell then asks runner for what may follow: names of the job file, queues, ids of unfinished jobs for
wait and cancel, of dead ones for retry. Make it anew when runner is upgraded.";

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  runner man | man -l -
  runner man > ~/.local/share/man/man1/runner.1";

pub(super) const SCHEMA_EXAMPLES: &str = "\
Examples:
  runner schema > jobs.schema.json  beside a job file that begins with #:schema ./jobs.schema.json

Editors with a TOML language server then complete and check the keys of the job file.";

/// `completions`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// A shell that completions can be had for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// The GNU shell.
    Bash,
    /// `zsh`
    Zsh,
    /// `fish`
    Fish,
    /// `elvish`
    Elvish,
    /// `pwsh`
    Powershell,
}

impl Shell {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
            Self::Powershell => "powershell",
        }
    }
}
