fn restock(sku: String, erp: Data<Erp>) {
    erp.order(&sku);
}
/// The task [`restock()`], to register.
#[allow(non_camel_case_types, dead_code)]
struct restock {}
#[automatically_derived]
#[allow(deprecated)]
impl ::linchpin::__private::Task for restock {
    type Job = shop::Restock;
    const SPEC: &'static ::linchpin::__private::TaskSpec = &::linchpin::__private::TaskSpec {
        also: &["refill"],
        backoff: ::linchpin::__private::Backoff {
            first: ::linchpin::__private::Duration::from_secs(1u64),
            cap: ::linchpin::__private::Duration::from_secs(60u64),
        },
        blocking: true,
        ..::linchpin::__private::TaskSpec::DEFAULT
    };
    fn data_needs() -> ::linchpin::__private::Vec<::linchpin::__private::DataNeed> {
        ::linchpin::__private::vec![
            < Data < Erp > as ::linchpin::__private::FromData > ::need()
        ]
    }
    async fn run(
        job: Self::Job,
        _attempt: ::linchpin::__private::Attempt,
        data: ::linchpin::__private::DataMap,
    ) -> ::linchpin::__private::TaskResult {
        ::linchpin::__private::blocking(move || {
                restock(
                    job.sku,
                    <Data<Erp> as ::linchpin::__private::FromData>::take(&data)?,
                );
                ::linchpin::__private::Ok(())
            })
            .await
    }
}
