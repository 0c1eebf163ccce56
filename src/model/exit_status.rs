//! The exit statuses of verbs, and errors as rows that name theirs.

use std::fmt::Display;
use std::io;
use std::process::{ExitCode, Termination};

/// The exit status of a verb. The numbers above 63 come from `sysexits.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExitStatus(pub u8);

impl ExitStatus {
    pub const SUCCESS: Self = Self(0);
    /// A check failed, or a job failed.
    pub const FAILED: Self = Self(1);
    pub const USAGE: Self = Self(2);
    /// The job file or other input is invalid.
    pub const DATA: Self = Self(65);
    /// No such job, id or file.
    pub const NOT_FOUND: Self = Self(66);
    /// A bug in runner.
    pub const INTERNAL: Self = Self(70);
    /// A file would be overwritten.
    pub const EXISTS: Self = Self(73);
    /// I/O error, disk full, or a file that cannot be used.
    pub const IO: Self = Self(74);
    /// The same call may succeed later, or a wait was given up.
    pub const LATER: Self = Self(75);
    /// The database is from a newer runner.
    pub const OTHER_VERSION: Self = Self(76);
    pub const PERMISSION: Self = Self(77);

    /// The status of a program that ends on this signal, as a shell gives it.
    pub fn of_signal(signal: i32) -> Self {
        Self(u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX))
    }

    /// The status for what the operating system refused.
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::PERMISSION,
            _ => Self::IO,
        }
    }
}

impl Termination for ExitStatus {
    fn report(self) -> ExitCode {
        ExitCode::from(self.0)
    }
}

/// Makes the command that people are told to type of a verb and its arguments.
pub type ToType<'a> = &'a dyn Fn(&str, &dyn Display) -> String;

/// Makes an enum of errors, each a row: its parts, behind `=` its words, as `write!` takes them, and behind `=>` its exit status and
/// what to do next, which is empty where nothing helps. All of these know the parts by their names, and the last one the
/// [`ToType`] that the head names.
macro_rules! errors {
    ($(#[$of_all:meta])* $all:ident, $to_type:ident: $(
        $(#[$about:meta])+
        $name:ident $(($($part:ident: $type:ty),+))? $({ $($field:ident: $of:ty),+ })?
            = ($($words:tt)+) => $status:expr, $hint:expr;
    )+) => {
        $(#[$of_all])*
        #[derive(Debug)]
        pub enum $all {
            $($(#[$about])+ $name $(($($type),+))? $({ $($field: $of),+ })?,)+
        }

        impl std::fmt::Display for $all {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {$(
                    Self::$name $(($($part),+))? $({ $($field),+ })? => {
                        // A row need not name all parts.
                        $(let _ = ($($part),+);)? $(let _ = ($($field),+);)?
                        write!(f, $($words)+)
                    }
                )+}
            }
        }

        impl std::error::Error for $all {}

        impl $all {
            /// The exit status of a verb that meets it, and what to do next.
            pub fn status_and_hint(
                &self,
                $to_type: crate::model::ToType<'_>,
            ) -> (crate::model::ExitStatus, String) {
                match self {$(
                    Self::$name $(($($part),+))? $({ $($field),+ })? => {
                        $(let _ = ($($part),+);)? $(let _ = ($($field),+);)?
                        ($status, String::from($hint))
                    }
                )+}
            }
        }
    };
}
pub(crate) use errors;
