//! Names near a misspelt one.

/// The likeness from which on a name is suggested; the same as that of the command line.
const ALIKE: f64 = 0.7;
/// The most names that are suggested.
const MOST: usize = 3;

/// Those of `names` that are like `word`, the most alike first, at most three.
pub fn near<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let word = plain(word);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&word, &plain(name)), name))
        .filter(|(score, _)| *score > ALIKE)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// The one most like `word`.
pub(super) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    near(word, names).into_iter().next()
}

/// The one that `word` becomes when a single slip of the fingers is put right. Names as alike as those of signals are
/// not guessed at more boldly.
pub(super) fn slip<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let is_long = word.chars().count() >= 3; // two letters are one slip away from any other two
    names.into_iter().find(|name| is_long && strsim::osa_distance(word, name) == 1)
}

/// Dashes, underscores and the way words are put together are the same to somebody who searches a name.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut after_lower = false;
    for c in name.chars() {
        if after_lower && c.is_uppercase() {
            plain.push('_');
        }
        after_lower = c.is_lowercase();
        plain.extend(if c == '-' { '_' } else { c }.to_lowercase());
    }
    plain
}

/// How alike two names are, 0 to 1; one that contains the other counts as alike.
fn likeness(word: &str, name: &str) -> f64 {
    if word.len() < 3 {
        // Two letters have too much in common with everything.
        return strsim::normalized_damerau_levenshtein(word, name);
    }
    let of_part = if name.contains(word) { 0.75 } else { 0.0 };
    strsim::jaro(word, name).max(of_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_come_first() {
        let names = ["nightly-backup", "backup", "report", "push-metrics"];
        assert_eq!(near("bakup", names), ["backup"]);
        assert_eq!(near("backup", names), ["backup", "nightly-backup"]);
        assert_eq!(near("Push_Metrics", names), ["push-metrics"]);
        assert_eq!(near("zzz", names), [""; 0]);
        assert_eq!(plain("maxRetries"), "max_retries");
        assert_eq!(plain("MAX-RETRIES"), "max_retries");
    }

    #[test]
    fn one_slip_is_put_right() {
        let put_right = |word| slip(word, ["TERM", "IO", "SYS"]);
        assert_eq!(["TRM", "TREM", "TERMS"].map(put_right), [Some("TERM"); 3]);
        assert_eq!(["FOO", "FO", "TIMER"].map(put_right), [None; 3]);
    }
}
