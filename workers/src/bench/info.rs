//! The server's counters, from one `INFO all`.

use std::collections::HashMap;

/// Commands that Linchpin sends from a client and never from a script. What scripts call is counted by the server under
/// the same names as what clients send, so calls of clients are told apart by name.
const SENT_BY_CLIENTS: [&str; 20] = [
    "evalsha",
    "eval",
    "fcall",
    "script|load",
    "blpop",
    "brpop",
    "blmpop",
    "ping",
    "hello",
    "auth",
    "select",
    "info",
    "wait",
    "subscribe",
    "ssubscribe",
    "unsubscribe",
    "client|setinfo",
    "client|setname",
    "multi",
    "exec",
];

/// One reading of the server's counters.
pub struct Info(HashMap<String, String>);

/// What happened on the server between two readings.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// CPU of the main thread, user and system, in microseconds.
    pub cpu_us: f64,
    /// Commands as the server counts them, those of scripts included.
    pub commands: f64,
    /// Commands that clients sent.
    pub calls: f64,
    /// Bytes that clients sent.
    pub input_bytes: f64,
    /// Bytes of data and its overhead that came to be held, without what client connections hold.
    pub held_bytes: f64,
}

impl Info {
    /// Reads the text of an `INFO` reply.
    pub fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.trim_end().split_once(':'));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// A field as text; empty when the server does not have it.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A field as a number; 0 when the server does not have it.
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(0.0)
    }

    /// How often a command was called, by clients and scripts.
    fn calls(&self, command: &str) -> f64 {
        let row = self.text(&format!("cmdstat_{command}"));
        row.split(',')
            .find_map(|part| part.strip_prefix("calls="))
            .and_then(|calls| calls.parse().ok())
            .unwrap_or(0.0)
    }

    /// What happened from an earlier reading to this one; the reading itself is not counted.
    pub fn since(&self, earlier: &Info) -> Spent {
        let grown = |name: &str| self.number(name) - earlier.number(name);
        let held = |info: &Info| info.number("used_memory") - info.number("mem_clients_normal");
        let calls: f64 = SENT_BY_CLIENTS
            .iter()
            .map(|command| self.calls(command) - earlier.calls(command))
            .sum();
        Spent {
            cpu_us: (grown("used_cpu_user_main_thread") + grown("used_cpu_sys_main_thread")) * 1e6,
            commands: grown("total_commands_processed") - 1.0,
            calls: calls - 1.0,
            input_bytes: grown("total_net_input_bytes"),
            held_bytes: held(self) - held(earlier),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Info;

    #[test]
    fn counters_are_differences_without_the_reading_itself() {
        let before = Info::parse(
            "# CPU\r\nused_cpu_user_main_thread:1.5\r\nused_cpu_sys_main_thread:0.5\r\ntotal_commands_processed:10\r\n\
             cmdstat_info:calls=1,usec=9\r\ncmdstat_evalsha:calls=2,usec=9,rejected_calls=0\r\nused_memory:1000\r\nmem_clients_normal:100\r\n",
        );
        let after = Info::parse(
            "used_cpu_user_main_thread:2.0\r\nused_cpu_sys_main_thread:0.75\r\ntotal_commands_processed:50\r\ncmdstat_info:calls=2,usec=9\r\n\
             cmdstat_evalsha:calls=12,usec=99\r\ncmdstat_hset:calls=28,usec=1\r\nused_memory:3000\r\nmem_clients_normal:600\r\n",
        );
        let spent = after.since(&before);
        assert_eq!(
            (spent.cpu_us, spent.commands, spent.calls, spent.held_bytes),
            (750_000.0, 39.0, 10.0, 1500.0)
        );
    }
}
