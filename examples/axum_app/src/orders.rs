//! Orders: accepted over HTTP, carried out by a locked task.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use linchpin::{Client, Data, Enqueued, Error, TaskError, TaskResult, task};
use serde::Deserialize;
use serde_json::json;

use crate::stock::Stock;

/// Takes items out of stock. No two jobs of one SKU run at the same time, so reading and writing need no more than that.
#[task(lock = "inventory:{sku}", retries = 5)]
pub async fn decrement(stock: Data<Stock>, sku: String, qty: u32) -> TaskResult {
    let left = stock.left(&sku).ok_or_else(|| TaskError::discard(format!("there is no {sku}")))?;
    if left < i64::from(qty) {
        return Err(TaskError::discard(format!("{left} of {sku} are left, {qty} were ordered")));
    }
    stock.set(&sku, left - i64::from(qty));
    Ok(())
}

#[derive(Deserialize)]
struct Order {
    sku: String,
    qty: u32,
}

#[derive(Clone)]
struct Shop {
    client: Client,
    stock: Stock,
}

/// The shop's routes.
pub fn routes(client: Client, stock: Stock) -> Router {
    Router::new()
        .route("/orders/{number}", put(place).get(status))
        .route("/stock/{sku}", get(left))
        .with_state(Shop { client, stock })
}

/// Accepts an order. The same order again is the same job: browsers and proxies may repeat a PUT.
async fn place(State(shop): State<Shop>, Path(number): Path<String>, Json(order): Json<Order>) -> Response {
    let job = decrement {
        sku: order.sku,
        qty: order.qty,
    };
    match shop.client.enqueue(job).unique(format!("order:{number}")).await {
        Ok(Enqueued::New(id)) => (StatusCode::ACCEPTED, Json(json!({ "job": id.to_string() }))).into_response(),
        Ok(Enqueued::Existing(id)) => (StatusCode::OK, Json(json!({ "job": id.to_string() }))).into_response(),
        Err(error) => problem(error),
    }
}

/// Says how an order stands: its job's state while it lives, and why it died. Of a job that is done nothing is kept.
async fn status(State(shop): State<Shop>, Path(number): Path<String>) -> Response {
    match shop.client.job_by_key(&format!("order:{number}")).await {
        Ok(Some(job)) => Json(json!({ "job": job.id.to_string(), "state": format!("{:?}", job.state) })).into_response(),
        Ok(None) => (
            StatusCode::NOT_FOUND,
            Json(json!({ "problem": "no order of this number is under way" })),
        )
            .into_response(),
        Err(error) => problem(error),
    }
}

async fn left(State(shop): State<Shop>, Path(sku): Path<String>) -> Response {
    match shop.stock.left(&sku) {
        Some(left) => Json(json!({ "sku": sku, "left": left })).into_response(),
        None => (StatusCode::NOT_FOUND, Json(json!({ "problem": format!("there is no {sku}") }))).into_response(),
    }
}

fn problem(error: Error) -> Response {
    let status = match &error {
        Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Conflict { .. } => StatusCode::CONFLICT,
        other if other.is_transient() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, Json(json!({ "problem": error.to_string() }))).into_response()
}
