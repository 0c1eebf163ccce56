//! Names near a misspelt one.

/// Names below this likeness are not suggested; clap uses the same threshold.
const MIN_LIKENESS: f64 = 0.7;

/// Names that keep less than this of the word are not suggested, whatever letters they share: `faild` is not `killed`.
const MIN_KEPT: f64 = 0.4;

const MAX_SUGGESTIONS: usize = 3;

/// The names that are like `word`, the most alike first, at most three.
pub fn near_names<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let word = snake_case(word);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&word, &snake_case(name)), name))
        .filter(|(score, _)| *score > MIN_LIKENESS)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().map(|(_, name)| name).take(MAX_SUGGESTIONS).collect()
}

/// The name most like `word`.
pub(super) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    near_names(word, names).into_iter().next()
}

/// `max_retries` for `maxRetries`, `Max-Retries` and `MAX_RETRIES`: a typo hides in letters, not in style.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut after_lower = false;
    for c in name.chars() {
        if after_lower && c.is_uppercase() {
            snake.push('_');
        }
        after_lower = c.is_lowercase();
        snake.extend(if c == '-' { '_' } else { c }.to_lowercase());
    }
    snake
}

/// From 0 to 1; a name that contains the word counts as alike.
fn likeness(word: &str, name: &str) -> f64 {
    let kept = strsim::normalized_damerau_levenshtein(word, name);
    if word.len() < 3 {
        // Jaro finds two letters in almost every name.
        return kept;
    }
    let of_part = if name.contains(word) { 0.75 } else { 0.0 };
    // Jaro finds the letters of a short name in almost every word.
    let of_letters = if kept < MIN_KEPT { 0.0 } else { strsim::jaro(word, name) };
    of_letters.max(of_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_come_first() {
        let names = ["nightly-backup", "backup", "report", "push-metrics"];
        assert_eq!(near_names("bakup", names), ["backup"]);
        assert_eq!(near_names("backup", names), ["backup", "nightly-backup"]);
        assert_eq!(near_names("Push_Metrics", names), ["push-metrics"]);
        assert_eq!(near_names("zzz", names), [""; 0]);
        assert_eq!(near_names("faild", ["a", "killed"]), [""; 0]);
        assert_eq!(["maxRetries", "MAX-RETRIES"].map(snake_case), ["max_retries", "max_retries"]);
    }
}
