//! The standard output and the standard error of this process, to which all goes that a verb prints.

use std::io::{self, Write};
use std::sync::OnceLock;

use crate::model::OutputStream;
use crate::stdio::Waiting;

type Take = Box<dyn Fn(OutputStream, &[u8]) + Send + Sync>;

/// What takes all that is printed. It is set once, because notes may come from anywhere.
static TAKE: OnceLock<Take> = OnceLock::new();

/// Hands all that is printed from now on to this function, which waits for no reader. Its caller sees to it that it arrives, and
/// that a failure is told.
pub fn print_through(take: impl Fn(OutputStream, &[u8]) + Send + Sync + 'static) {
    // The first one stays, as what it has taken may still be on its way.
    let _ = TAKE.set(Box::new(take));
}

/// One of the streams.
pub(super) struct Stream(pub OutputStream);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (TAKE.get(), self.0) {
            (Some(take), stream) => {
                take(stream, bytes);
                Ok(bytes.len())
            }
            (None, OutputStream::Stdout) => Waiting(io::stdout()).write(bytes),
            (None, OutputStream::Stderr) => Waiting(io::stderr()).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match (TAKE.get(), self.0) {
            (None, OutputStream::Stdout) => Waiting(io::stdout()).flush(),
            _ => Ok(()),
        }
    }
}
