//! Finds the names that somebody most likely meant.

/// Least likeness, of 1, that counts as near.
const NEAR: f64 = 0.75;

/// Up to `count` of the candidates, the nearest first. The part behind the last `/` counts as a name of its own.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let name = name.to_ascii_lowercase();
    let likeness = |candidate: &str| {
        let whole = candidate.to_ascii_lowercase();
        let last = whole.rsplit('/').next().unwrap_or_default();
        strsim::jaro_winkler(&name, &whole).max(strsim::jaro_winkler(&name, last))
    };
    let ranked = candidates.into_iter().map(|candidate| (likeness(candidate), candidate));
    let mut near: Vec<_> = ranked.filter(|(likeness, _)| *likeness >= NEAR).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_name_and_a_stranger_finds_none() {
        let zones = ["Europe/Berlin", "Europe/Dublin", "America/New_York"];
        assert_eq!(nearest("Europe/Berln", zones, 1), ["Europe/Berlin"]);
        assert_eq!(nearest("berlin", zones, 1), ["Europe/Berlin"]);
        assert_eq!(nearest("New York", zones, 2), ["America/New_York"]);
        assert!(nearest("qqqq", zones, 3).is_empty());
    }
}
