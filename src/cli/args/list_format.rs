//! A flag for each format of lists.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::view::terminal::{LIST_FORMATS, ListFormat};

/// The format whose flag is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListFormatArg(pub Option<&'static ListFormat>);

impl FromArgMatches for ListFormatArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(LIST_FORMATS.iter().find(|format| matches.get_flag(format.name))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ListFormatArg {
    fn augment_args(command: Command) -> Command {
        let flag = |format: &'static ListFormat| {
            let flag = Arg::new(format.name).long(format.name).help(format.help).action(ArgAction::SetTrue);
            // One flag of a group may be given.
            flag.group("list_format").conflicts_with_all(["json", "html", "prometheus", "watch"])
        };
        command.args(LIST_FORMATS.iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
