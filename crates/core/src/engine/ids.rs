//! The ids of builds, tasks, runs and the like, dense within one project, and tables of items by id.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty) $prefix:literal;)+) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )+};
}

ids! {
    /// Id of a build: one execution of a plan.
    BuildId(u32) "b";
    /// Id of a task: one unit of work.
    TaskId(u32) "t";
    /// Id of a run: one attempt.
    RunId(u64) "r";
    /// Id of a question to the operator.
    QuestionId(u32) "q";
    /// Id of an irreversible action.
    MutationId(u64) "m";
    /// Id of an effect: the position of the event that requested it.
    EffectId(u64) "e";
}

impl RunId {
    /// Returns the git ref that holds the content of the run's worktree once it is saved.
    pub fn saved_ref(self) -> String {
        format!("refs/unstuck/attempts/{self}")
    }
}

/// Items by id, with constant-time lookup.
///
/// Ids are small numbers that the engine itself hands out, so one multiplication spreads them well
/// enough, and no client can choose them to collide.
#[derive(Clone, Debug)]
pub(super) struct IdTable<K, V>(HashMap<K, V, BuildHasherDefault<IdHasher>>);

impl<K: Copy + Eq + Hash + Ord, V> IdTable<K, V> {
    pub(super) fn get(&self, id: &K) -> Option<&V> {
        self.0.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &K) -> Option<&mut V> {
        self.0.get_mut(id)
    }

    pub(super) fn insert(&mut self, id: K, thing: V) {
        self.0.insert(id, thing);
    }

    pub(super) fn remove(&mut self, id: &K) -> Option<V> {
        self.0.remove(id)
    }

    /// Returns all items in the order of their ids.
    pub(super) fn iter_sorted(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        let mut all: Vec<(K, &V)> = self.0.iter().map(|(id, thing)| (*id, thing)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter()
    }
}

impl<K, V> Default for IdTable<K, V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for IdTable<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K: Eq + Hash, V: Eq> Eq for IdTable<K, V> {}

impl<K: Copy + Eq + Hash + Ord + Serialize, V: Serialize> Serialize for IdTable<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter_sorted())
    }
}

impl<'de, K: Eq + Hash + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for IdTable<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        HashMap::deserialize(deserializer).map(Self)
    }
}

/// A hasher of one multiplication by an odd constant: the high bits, which choose the bucket,
/// depend on all input bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdHasher(u64);

impl IdHasher {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    const fn mix(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(Self::SPREAD);
    }
}

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }
}

/// Serializes maps whose keys are not strings as lists of pairs.
pub(super) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::engine) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(in crate::engine) fn deserialize<'de, K, V, D>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}
