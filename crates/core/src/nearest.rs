//! What somebody may have meant who mistyped a name.

/// At most this many suggestions: more would be a list, not a hint.
const SUGGESTIONS_MAX: usize = 3;
/// Longer input cannot be a mistyped name, and the distance is quadratic in its length.
const MISTYPED_BYTES_MAX: usize = 64;
/// A part of a name says which one is meant from this length on.
const PART_BYTES_MIN: usize = 4;

/// The names most like `wanted`, best first; none when nothing is near.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    if wanted.is_empty() || wanted.len() > MISTYPED_BYTES_MAX {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> =
        names.filter_map(|name| Some((apart(wanted, name)?, name))).collect();
    // Stable: names that are equally near keep their order.
    near.sort_by_key(|(apart, _)| *apart);
    near.dedup();
    near.into_iter().take(SUGGESTIONS_MAX).map(|(_, name)| name).collect()
}

/// How far a name is from what was given, where it is near at all.
fn apart(wanted: &str, name: &str) -> Option<usize> {
    let apart = distance(wanted, name);
    let near = apart * 3 <= name.len().max(wanted.len());
    let part = wanted.len() >= PART_BYTES_MIN && name.contains(wanted);
    match (near, part) {
        (_, true) => Some(apart.min(1)),
        (true, false) => Some(apart),
        (false, false) => None,
    }
}

/// Insertions, deletions and replacements that lead from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let to = to.as_bytes();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.as_bytes().iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_a_stranger_gets_none() {
        let names = ["jobs", "job", "in_place", "pull_request"];
        let near = |wanted: &str| nearest(wanted, names.into_iter());
        assert_eq!(near("jobz"), ["jobs", "job"]);
        assert_eq!(near("inplace"), ["in_place"]);
        assert_eq!(near("request"), ["pull_request"]);
        assert_eq!(near("telemetry"), Vec::<&str>::new());
        assert_eq!(near(""), Vec::<&str>::new());
        assert_eq!(near(&"x".repeat(10_000)), Vec::<&str>::new());
    }
}
