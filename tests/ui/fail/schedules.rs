//! A task's own schedule.
use linchpin::{TaskResult, task};

#[task(cron = "61 * * * *")]
async fn minute() -> TaskResult {
    Ok(())
}

#[task(cron = "0 3 * * *", every = "1h")]
async fn both() -> TaskResult {
    Ok(())
}

#[task(tz = "Europe/Berlin")]
async fn zone() -> TaskResult {
    Ok(())
}

#[task(every = "1h", tz = "Europe/Berlin")]
async fn even() -> TaskResult {
    Ok(())
}

#[task(every = "1500ms")]
async fn fraction() -> TaskResult {
    Ok(())
}

#[task(every = 5)]
async fn number() -> TaskResult {
    Ok(())
}

#[task(cron = "@daily")]
async fn arguments(shop: String) -> TaskResult {
    let _ = shop;
    Ok(())
}

fn main() {}
