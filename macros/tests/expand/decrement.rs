/// Takes a quantity out of stock.
pub async fn decrement(
    attempt: Attempt,
    stock: Data<Stock>,
    sku: String,
    qty: u32,
) -> TaskResult {
    stock.take(attempt.fence(), &sku, qty).await
}
/// Arguments of [`decrement()`]: a job to enqueue, and the task to register.
#[allow(non_camel_case_types, missing_docs)]
#[derive(
    ::linchpin::__private::Debug,
    ::linchpin::__private::Clone,
    ::linchpin::__private::Serialize,
    ::linchpin::__private::Deserialize,
)]
#[serde(crate = "::linchpin::__private::serde", deny_unknown_fields)]
pub struct decrement {
    pub sku: String,
    #[serde(default)]
    pub qty: u32,
}
#[automatically_derived]
impl ::linchpin::__private::Job for decrement {
    const SPEC: &'static ::linchpin::__private::JobSpec = &::linchpin::__private::JobSpec {
        locks: &["inventory:{sku}"],
        unique: ::linchpin::__private::Some("order:{sku}"),
        ..::linchpin::__private::JobSpec::new(
            "decrement",
            &[
                ::linchpin::__private::Field::new(
                    "sku",
                    ::linchpin::__private::Kind::String,
                ),
                ::linchpin::__private::Field::optional(
                    "qty",
                    ::linchpin::__private::Kind::Uint,
                ),
            ],
        )
    };
    fn lock_keys(&self) -> ::linchpin::__private::Vec<::linchpin::__private::String> {
        ::linchpin::__private::vec![
            ::linchpin::__private::format!("inventory:{}", ::linchpin::__private::part(&
            self.sku))
        ]
    }
    fn unique_key(
        &self,
    ) -> ::linchpin::__private::Option<::linchpin::__private::String> {
        ::linchpin::__private::Some(
            ::linchpin::__private::format!(
                "order:{}", ::linchpin::__private::part(& self.sku)
            ),
        )
    }
}
#[automatically_derived]
#[allow(deprecated)]
impl ::linchpin::__private::Task for decrement {
    type Job = Self;
    const SPEC: &'static ::linchpin::__private::TaskSpec = &::linchpin::__private::TaskSpec {
        retries: 5u32,
        timeout: ::linchpin::__private::Duration::from_secs(30u64),
        ..::linchpin::__private::TaskSpec::DEFAULT
    };
    fn data_needs() -> ::linchpin::__private::Vec<::linchpin::__private::DataNeed> {
        ::linchpin::__private::vec![
            < Data < Stock > as ::linchpin::__private::FromData > ::need()
        ]
    }
    async fn run(
        job: Self::Job,
        attempt: ::linchpin::__private::Attempt,
        data: ::linchpin::__private::DataMap,
    ) -> ::linchpin::__private::TaskResult {
        <TaskResult as ::linchpin::__private::Outcome>::outcome(
            decrement(
                    attempt,
                    <Data<Stock> as ::linchpin::__private::FromData>::take(&data)?,
                    job.sku,
                    job.qty,
                )
                .await,
        )
    }
}
