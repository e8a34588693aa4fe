//! `linchpin enqueue`: jobs from the shell, one or many, and what is refused.

use linchpin::{TaskResult, task};

#[allow(dead_code)]
mod shop;

use shop::server::RedisServer;
use shop::{Shop, TASKS, enqueue_lines, linchpin, text, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_enqueued_from_the_shell_or_refused_with_the_argument_named() {
    let shop = Shop::open(TASKS).await;
    for (words, said) in [
        (&["tel", "{}"][..], "the nearest is `tell`"),
        (&["tell", r#"{"text":"a"}"#], "\"n\""),
        (&["tell", r#"{"text":5,"n":1}"#], "a number is no string"),
        (&["tell", r#"{"text":"a","n":1,"x":2}"#], "\"x\""),
        (&["tell", "{"], "this is no JSON"),
        (&["tell", "{}", "--delay", "soon"], "--delay"),
        (&["tell", "{}", "--priority", "urgent"], "it is high, normal or low"),
    ] {
        let output = shop.enqueue(words);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
    }
    let good = r#"{"text":"a","n":1}"#;
    let output = shop.enqueue(&["tell", good, "--delay", "1h", "--unique", "once", "--json"]);
    let first: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(first["new"], true);
    let output = shop.enqueue(&["tell", good, "--delay", "1h", "--unique", "once", "--json"]);
    let second: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((second["new"].as_bool(), &second["job"]), (Some(false), &first["job"]));
    let output = shop.enqueue(&["later.defined", "{\"any\":1}", "--unchecked", "--queue", "elsewhere"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_are_enqueued_all_or_none() {
    let shop = Shop::open(&format!("{TASKS}\n[tasks.none]\nexec = [\"/bin/true\"]\nqueue = \"later\"\n")).await;
    let bad = enqueue_lines(&shop.server.url(), "none {}\n\n{\"task\":\"none\"}\nnone {\"x\":1}\nnon\n");
    let error = text(&bad.stderr);
    assert_eq!(bad.status.code(), Some(2), "{error}");
    assert!(
        error.contains("nothing was enqueued") && error.contains("line 4: ") && error.contains("line 5: "),
        "{error}"
    );
    assert_eq!(shop.client.census().await.expect("a read").jobs, 0);
    let good = enqueue_lines(&shop.server.url(), &"none {}\n{\"task\":\"none\",\"args\":{}}\n".repeat(1500));
    assert_eq!(
        text(&good.stdout),
        "{\"existing\":0,\"new\":3000,\"refused\":0}\n",
        "{}",
        text(&good.stderr)
    );
    assert_eq!(shop.client.census().await.expect("a read").jobs, 3000);
}

#[task(lock = "tell:{n}")]
async fn tell(text: String, n: i64) -> TaskResult {
    let _ = (text, n);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_the_shell_and_of_rust_share_their_locks() {
    let tasks = r#"
[tasks.tell]
exec = ["/bin/sh", "-c", "if ! mkdir DIR/inside-$1; then echo overlap >> DIR/overlaps; exit 1; fi; sleep 0.01; rmdir DIR/inside-$1; echo x >> DIR/done", "sh", "{n}"]
args = { text = "string", n = "int" }
lock = "tell:{n}"
env = ["PATH"]
"#;
    let shop = Shop::open(tasks).await;
    let lines: String = (0..1000)
        .map(|n| format!("tell {{\"text\":\"shell\",\"n\":{}}}\n", n % 20))
        .collect();
    assert!(enqueue_lines(&shop.server.url(), &lines).status.success());
    let jobs = (0..1000).map(|n| tell {
        text: "rust".into(),
        n: n % 20,
    });
    for answer in shop.client.enqueue_many(jobs).await.expect("a bulk enqueue") {
        answer.expect("accepted");
    }
    until("all jobs", async || shop.client.census().await.expect("a read").jobs == 0).await;
    assert!(!shop.path("overlaps").exists());
    assert_eq!(std::fs::read_to_string(shop.path("done")).expect("a file").lines().count(), 2000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_have_the_options_of_the_command_and_a_refusal_names_its_line() {
    let shop = Shop::open(&format!(
        "{TASKS}\n[tasks.pay]\nexec = [\"/bin/true\"]\nqueue = \"later\"\nargs = {{ n = \"int\" }}\n"
    ))
    .await;
    let lines = r#"{"task":"pay","args":{"n":1},"unique":"order-1","retries":3,"timeout":"5s","delay":"1h","queue":"slow"}
{"task":"pay","args":{"n":1},"unique":"order-1"}

{"task":"pay","args":{"n":2},"unique":"order-1"}
"#;
    let output = enqueue_lines(&shop.server.url(), lines);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(text(&output.stdout), "{\"existing\":1,\"new\":1,\"refused\":1}\n");
    assert!(error.contains("line 4: ") && error.contains("order-1"), "{error}");
    let census = shop.client.census().await.expect("a read");
    assert_eq!(census.jobs, 1, "{census:?}");
    for (line, said) in [
        (r#"{"task":"pay","args":{"n":1},"uniqe":"a"}"#, "line 1: unknown field `uniqe`"),
        (r#"{"task":"pay","args":{"n":1,"n":2}}"#, "line 1: "),
        (r#"{"args":{"n":1}}"#, "line 1: `task` is missing"),
        (r#"{"task":"pay","args":[1]}"#, "line 1: `args` is no object"),
        (r#"{"task":"pay","args":{"n":1},"delay":"soon"}"#, "line 1: "),
        (r#"pay {"n":1} trailing"#, "line 1: "),
    ] {
        let output = enqueue_lines(&shop.server.url(), line);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        assert!(error.contains("nothing was enqueued") && error.contains(said), "{line}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nul_cannot_be_an_argument_of_a_command_and_is_refused_when_it_is_enqueued() {
    let shop = Shop::open(TASKS).await;
    let output = shop.enqueue(&["tell", r#"{"text":"a\u0000b","n":1}"#]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("\"text\"") && error.contains("text with NUL is no string without NUL"),
        "{error}"
    );
    assert_eq!(shop.client.census().await.expect("a read").jobs, 0, "nothing was enqueued");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_a_job_stays_out_of_the_messages_about_it() {
    let shop = Shop::open(TASKS).await;
    for args in [
        r#"{"text":"s3cret","n":"s3cret"}"#,
        r#"{"text":"s3cret""#,
        r#"{"text":"s3cret","n":1,"n":2}"#,
    ] {
        for output in [
            shop.enqueue(&["tell", args]),
            enqueue_lines(&shop.server.url(), &format!("tell {args}\n")),
        ] {
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_the_configuration_needs_no_worker_to_be_enqueued() {
    let shop = Shop::open(TASKS).await;
    let server = RedisServer::start();
    let config = shop.path("config.toml");
    let store = server.url();
    let enqueue = |task: &str, args: &str| {
        linchpin(&[
            "enqueue",
            task,
            args,
            "--config",
            config.to_str().expect("a path"),
            "--store",
            &store,
        ])
    };
    let output = enqueue("tell", r#"{"text":"a","n":1}"#);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let id = text(&output.stdout).trim().to_owned();
    let output = enqueue("tell", r#"{"text":"a"}"#);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("\"n\""), "{}", text(&output.stderr));
    let output = enqueue("tel", "{}");
    assert!(text(&output.stderr).contains("the nearest is `tell`"), "{}", text(&output.stderr));
    let output = linchpin(&["jobs", "show", &id, "--json", "--store", &store]);
    let job: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(job["locks"], serde_json::json!(["tell:1"]), "{job}");
}
