//! Suggestions for a mistyped name.

/// Maximum number of suggestions: more would be a list, not a hint.
const SUGGESTIONS_MAX: usize = 3;
/// Maximum length of the input: longer text cannot be a mistyped name, and the distance is quadratic in its
/// length.
const MISTYPED_BYTES_MAX: usize = 64;
/// Minimum length of a part of a name that identifies it.
const PART_BYTES_MIN: usize = 4;

/// Returns the names most similar to `wanted`, best first; empty if none is near.
pub fn find_nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    if wanted.is_empty() || wanted.len() > MISTYPED_BYTES_MAX {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> =
        names.filter_map(|name| Some((near_distance(wanted, name)?, name))).collect();
    // The sort is stable: equally near names keep their order.
    near.sort_by_key(|(apart, _)| *apart);
    near.dedup();
    near.into_iter().take(SUGGESTIONS_MAX).map(|(_, name)| name).collect()
}

/// Returns the distance of a name from the input, if it is near at all.
fn near_distance(wanted: &str, name: &str) -> Option<usize> {
    let apart = edit_distance(wanted, name);
    let near = apart * 3 <= name.len().max(wanted.len());
    let part = wanted.len() >= PART_BYTES_MIN && name.contains(wanted);
    match (near, part) {
        (_, true) => Some(apart.min(1)),
        (true, false) => Some(apart),
        (false, false) => None,
    }
}

/// Returns the number of insertions, deletions, replacements and swaps of two neighbors that lead from one
/// name to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let from = from.as_bytes();
    let to = to.as_bytes();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut steps = replaced.min(row[j] + 1).min(last[j + 1] + 1);
            if i > 0 && j > 0 && a == to[j - 1] && from[i - 1] == b {
                steps = steps.min(before[j - 1] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_neighbours_that_changed_places_are_one_step() {
        let cases = [
            ("jbos", "jobs", 1),
            ("titel", "title", 1),
            ("ojbs", "jobs", 1),
            ("josb", "jobs", 1),
            ("sobj", "jobs", 2),
            ("jobs", "jobs", 0),
            ("jobz", "jobs", 1),
            ("job", "jobs", 1),
            ("jjobs", "jobs", 1),
            ("", "jobs", 4),
        ];
        for (given, name, steps) in cases {
            assert_eq!(edit_distance(given, name), steps, "{given} to {name}");
            assert_eq!(edit_distance(name, given), steps, "{name} to {given}");
        }
        let names = ["jobs", "title", "in_place"];
        assert_eq!(find_nearest("jbos", names.into_iter()), ["jobs"]);
        assert_eq!(find_nearest("titel", names.into_iter()), ["title"]);
    }

    #[test]
    fn the_nearest_name_comes_first_and_a_stranger_gets_none() {
        let names = ["jobs", "job", "in_place", "pull_request"];
        let near = |wanted: &str| find_nearest(wanted, names.into_iter());
        assert_eq!(near("jobz"), ["jobs", "job"]);
        assert_eq!(near("inplace"), ["in_place"]);
        assert_eq!(near("request"), ["pull_request"]);
        assert_eq!(near("telemetry"), Vec::<&str>::new());
        assert_eq!(near(""), Vec::<&str>::new());
        assert_eq!(near(&"x".repeat(10_000)), Vec::<&str>::new());
    }
}
