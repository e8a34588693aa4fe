//! Finds the name that somebody most likely meant.

/// The candidate nearest to `name`, where one is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = name.chars().count() / 3 + 1;
    let rank = |candidate: &str| match strsim::levenshtein(name, candidate) {
        near if near <= far => Some(near),
        _ if candidate.len() > 3 && name.contains(candidate) => Some(far),
        _ => None,
    };
    let ranked = candidates.into_iter().filter_map(|candidate| Some((rank(candidate)?, candidate)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, candidate)| candidate)
}

/// Writes `` : did you mean `x`? ``, or lists what there is.
pub(crate) fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(name, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let all: Vec<String> = candidates.into_iter().map(|candidate| format!("`{candidate}`")).collect();
    match &all[..] {
        [] => "there is none".into(),
        [one] => format!("there is only {one}"),
        [most @ .., last] => format!("there are {} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_a_stranger_finds_none() {
        let names = ["lock", "queue", "retries", "timeout", "wait_timeout"];
        assert_eq!(nearest("lok", names), Some("lock"));
        assert_eq!(nearest("que", names), Some("queue"));
        assert_eq!(nearest("max_retries", names), Some("retries"));
        assert_eq!(nearest("time_out", names), Some("timeout"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn what_there_is_is_listed_when_nothing_is_near() {
        assert_eq!(hint("x", ["sku", "qty"]), "there are `sku` and `qty`");
        assert_eq!(hint("colour", ["sku"]), "there is only `sku`");
        assert_eq!(hint("colour", []), "there is none");
        assert_eq!(hint("skuu", ["sku", "qty"]), "did you mean `sku`?");
    }
}
