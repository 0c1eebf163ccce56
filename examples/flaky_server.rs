//! A web server on loopback that is overloaded at first: it answers 503 twice, and then 200.
//!
//! Prints its port, and ends when its standard input is closed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// How many requests are turned away.
const OVERLOADED: usize = 2;

fn main() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let answer = if number < OVERLOADED {
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            } else {
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"
            };
            // A client that went away is its own affair.
            let _ = stream.and_then(|stream| serve(&stream, answer));
        }
    });
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Reads the head of a request, to its empty line, and answers.
fn serve(mut stream: &TcpStream, answer: &str) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        if line?.is_empty() {
            break;
        }
    }
    stream.write_all(answer.as_bytes())
}
