//! The example serves, works, and stops with everything done.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// One request over a connection of its own; the status and the body.
fn http(address: &str, request: &str, body: &str) -> (u16, serde_json::Value) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    let head = format!(
        "{request} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("a request");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    let status = reply.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let body = reply.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    (status, serde_json::from_str(body).unwrap_or_default())
}

struct App(Child);

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_order_is_accepted_once_carried_out_and_the_process_stops_cleanly() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axum_app"));
    command
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut app = App(command.spawn().expect("it starts"));
    let mut lines = BufReader::new(app.0.stdout.take().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("text");
    let address = first.strip_prefix("listening on http://").expect("the address").to_owned();

    let order = r#"{"sku":"A1","qty":2}"#;
    assert_eq!(http(&address, "PUT /orders/1001", order).0, 202);
    let begun = Instant::now();
    while http(&address, "GET /stock/A1", "").1["left"] != 98 {
        assert!(begun.elapsed() < Duration::from_secs(10), "not carried out");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(http(&address, "GET /stock/Z9", "").0, 404);
    assert_eq!(
        http(&address, "PUT /orders/1002", r#"{"sku":"A1"}"#).0,
        422,
        "an order without a number of items"
    );

    kill_process(Pid::from_child(&app.0), Signal::TERM).expect("our own child");
    let last = lines.next().expect("a line").expect("text");
    assert!(last.starts_with("stopped:"), "{last}");
    assert!(app.0.wait().expect("our own child").success());
}
