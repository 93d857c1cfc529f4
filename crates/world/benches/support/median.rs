//! The middle of what was measured.

/// The median; of an even number of values the upper one.
pub(crate) fn median<T: Copy + PartialOrd>(values: impl IntoIterator<Item = T>) -> T {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}
