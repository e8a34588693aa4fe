use linchpin::cron;

const NIGHT: &str = "0 3 * * *";

fn main() {
    cron!("0 22-4 * * *");
    cron!("*5 * * * *");
    cron!("0 0 30 2 *");
    cron!("TZ=UTC 0 0 * * *");
    cron!(NIGHT);
}
