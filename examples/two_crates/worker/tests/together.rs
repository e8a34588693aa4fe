//! A job that one process enqueues is run by the other.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

#[path = "../../../../tests/support/server.rs"]
#[allow(dead_code)]
mod server;

use linchpin::client::End;
use server::RedisServer;
use two_crates_jobs::Restock;

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_job_of_the_shared_crate_is_run_by_the_worker_of_another() {
    let server = RedisServer::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_two_crates_worker"));
    command.arg(server.url()).stdout(Stdio::piped());
    let mut worker = Process(command.spawn().expect("it starts"));
    let mut lines = BufReader::new(worker.0.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "working; Ctrl-C ends it");

    let client = linchpin::Client::connect(&server.url()).await.expect("our own server");
    let job = Restock { sku: "A1".into(), qty: 12 };
    let id = client.enqueue(job).await.expect("an enqueue").id();
    // `Gone` when it had ended before anybody waited
    let ended = client.wait(id).await.expect("an end");
    assert!(matches!(ended, End::Done | End::Gone), "{ended:?}");
    assert!(
        lines
            .next()
            .expect("a line")
            .expect("text")
            .starts_with("12 more of A1, under fence ")
    );
}
