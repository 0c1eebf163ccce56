//! Parse, run, exit.

use runner::cli::error::ExitStatus;

fn main() -> ExitStatus {
    runner::cli::main()
}
