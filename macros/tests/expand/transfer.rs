#[automatically_derived]
impl ::linchpin::__private::Job for Transfer {
    const SPEC: &'static ::linchpin::__private::JobSpec = &::linchpin::__private::JobSpec {
        queue: "money",
        locks: &["account:{from}", "account:{to}"],
        on_busy: ::linchpin::__private::OnBusy::Snooze(
            ::linchpin::__private::Duration::from_secs(5u64),
        ),
        expires_in: ::linchpin::__private::Some(
            ::linchpin::__private::Duration::from_secs(3600u64),
        ),
        ..::linchpin::__private::JobSpec::new(
            "transfer",
            &[
                ::linchpin::__private::Field::new(
                    "from",
                    ::linchpin::__private::Kind::Uint,
                ),
                ::linchpin::__private::Field::new(
                    "to",
                    ::linchpin::__private::Kind::Uint,
                ),
                ::linchpin::__private::Field::new(
                    "cents",
                    ::linchpin::__private::Kind::Int,
                ),
            ],
        )
    };
    fn lock_keys(&self) -> ::linchpin::__private::Vec<::linchpin::__private::String> {
        ::linchpin::__private::vec![
            ::linchpin::__private::format!("account:{}", ::linchpin::__private::part(&
            self.from)), ::linchpin::__private::format!("account:{}",
            ::linchpin::__private::part(& self.to))
        ]
    }
    fn unique_key(
        &self,
    ) -> ::linchpin::__private::Option<::linchpin::__private::String> {
        ::linchpin::__private::None
    }
}
