//! Bounds that are checked while compiling: those of `linchpin::limits`, to which a test holds them.

/// The most bytes of a lock or unique key.
pub(crate) const KEY_MAX_BYTES: usize = 512;
/// The most bytes of a name.
pub(crate) const NAME_MAX_BYTES: usize = 64;
/// The most locks of one job.
pub(crate) const LOCK_KEYS_MAX: usize = 8;
/// The longest duration.
pub(crate) const DURATION_MAX_DAYS: u64 = 3660;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use linchpin::limits;

    use super::*;

    #[test]
    fn bounds_are_the_library_s() {
        assert_eq!(KEY_MAX_BYTES, limits::LOCK_KEY_MAX_BYTES);
        assert_eq!(NAME_MAX_BYTES, limits::NAME_MAX_BYTES);
        assert_eq!(LOCK_KEYS_MAX, limits::LOCK_KEYS_MAX);
        assert_eq!(Duration::from_secs(DURATION_MAX_DAYS * 86_400), limits::DELAY_MAX);
    }

    #[test]
    fn the_documented_defaults_are_the_library_s() {
        let docs = include_str!("lib.rs");
        let default = |option: &str| {
            let row = docs
                .lines()
                .find(|line| line.starts_with(&format!("/// | `{option}")))
                .expect(option);
            row.trim_end_matches([' ', '|'])
                .rsplit('|')
                .next()
                .expect("a column")
                .trim()
                .to_string()
        };
        assert_eq!(default("queue"), format!("`{}`", limits::QUEUE));
        assert_eq!(default("retries"), limits::RETRIES.to_string());
        assert_eq!(default("crash_limit"), limits::CRASH_LIMIT.to_string());
        assert_eq!(default("timeout"), format!("{} min", limits::TIMEOUT.as_secs() / 60));
        let (first, cap) = (limits::BACKOFF_FIRST.as_secs(), limits::BACKOFF_CAP.as_secs() / 3600);
        assert_eq!(default("backoff"), format!("{first} s, cap {cap} h"));
    }
}
