//! Who is due: a heap of times, and the machine's clock to wait for the first of them.
//!
//! A time that was missed, because nobody was here or the machine slept or its clock was set forward,
//! comes once, however often it was missed. A clock that is set back stops nobody. A job that is held
//! has no time, and has missed nothing when it is let go.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use jiff::tz::TimeZone;
use unstuck_core::engine::TaskId;
use unstuck_core::time::{Span, Time};

use super::schedule::Schedule;
use crate::clock::Clock;

/// A clock that is corrected by less than this was not set back: a time on the calendar that has come
/// does not come again.
const CORRECTION_MAX: Span = Span::from_mins(1);

/// When one job runs.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// Its schedule.
    pub schedule: Schedule,
    /// The clocks that it means.
    pub zone: TimeZone,
    /// When it last ran, or was first seen.
    pub last: Time,
    /// Whether it is left alone.
    pub held: bool,
}

/// All jobs that have a schedule.
pub struct Scheduler {
    clock: Arc<dyn Clock>,
    jobs: BTreeMap<TaskId, Entry>,
    /// Times and whose they are. What a job's entry does not name any more counts for nothing.
    heap: BinaryHeap<Reverse<(Time, TaskId)>>,
    /// The latest time that was seen.
    seen: Time,
}

struct Entry {
    timetable: Timetable,
    next: Option<Time>,
}

impl Scheduler {
    /// Nobody is due.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let seen = clock.now();
        Self { clock, jobs: BTreeMap::new(), heap: BinaryHeap::new(), seen }
    }

    /// A job has this timetable from now on.
    pub fn put(&mut self, job: TaskId, timetable: Timetable) {
        let last = timetable.last.min(self.clock.now());
        let timetable = Timetable { last, ..timetable };
        self.jobs.insert(job, Entry { timetable, next: None });
        self.aim(job, last);
    }

    /// A job has no timetable any more.
    pub fn remove(&mut self, job: TaskId) {
        self.jobs.remove(&job);
    }

    /// Somebody ran a job, or its time was taken up: an interval counts from there.
    pub fn ran(&mut self, job: TaskId, at: Time) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if entry.timetable.schedule.interval().is_some() && at > entry.timetable.last {
            self.aim(job, at);
        }
    }

    /// A job is left alone, or no longer.
    pub fn hold(&mut self, job: TaskId, held: bool) {
        let now = self.clock.now();
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if entry.timetable.held != held {
            entry.timetable.held = held;
            self.aim(job, now);
        }
    }

    /// When a job is due.
    pub fn next_of(&self, job: TaskId) -> Option<Time> {
        self.jobs.get(&job)?.next
    }

    /// When the next job is due.
    pub fn next_time(&mut self) -> Option<Time> {
        while let Some(Reverse((at, job))) = self.heap.peek() {
            if self.jobs.get(job).and_then(|entry| entry.next) == Some(*at) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Waits until somebody is due, and tells who. Without anybody it waits for good.
    pub async fn due(&mut self) -> Vec<TaskId> {
        loop {
            let due = self.take_due();
            if !due.is_empty() {
                return due;
            }
            let clock = Arc::clone(&self.clock);
            match self.next_time() {
                Some(at) => clock.until(at).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Those who are due now; each has its next time from here on.
    pub fn take_due(&mut self) -> Vec<TaskId> {
        let now = self.clock.now();
        self.look_at_clock(now);
        let mut due = Vec::new();
        while let Some(at) = self.next_time().filter(|at| *at <= now) {
            let Some(Reverse((_, job))) = self.heap.pop() else { break };
            due.push(job);
            self.aim(job, self.counted_from(job, at, now));
        }
        due
    }

    /// From where the next time is counted: an interval keeps its beat unless it missed one.
    fn counted_from(&self, job: TaskId, due: Time, now: Time) -> Time {
        let interval = self.jobs.get(&job).and_then(|entry| entry.timetable.schedule.interval());
        if interval.is_some_and(|interval| due + interval > now) { due } else { now }
    }

    /// The next time of a job, counted from `last`.
    fn aim(&mut self, job: TaskId, last: Time) {
        let Some(Entry { timetable, next }) = self.jobs.get_mut(&job) else { return };
        timetable.last = last;
        let aimed = timetable.schedule.next(last, &timetable.zone);
        *next = aimed.filter(|_| !timetable.held);
        if let Some(at) = *next {
            self.heap.push(Reverse((at, job)));
        }
    }

    /// A clock that was set back would keep everybody waiting for a time that is far away now.
    fn look_at_clock(&mut self, now: Time) {
        let back = self.seen.since(now);
        self.seen = now;
        if back == Span::ZERO {
            return;
        }
        let is_concerned = |entry: &&Entry| {
            back >= CORRECTION_MAX || entry.timetable.schedule.interval().is_some()
        };
        let concerned = self.jobs.iter().filter(|(_, entry)| is_concerned(entry));
        let concerned: Vec<(TaskId, Time)> =
            concerned.map(|(job, entry)| (*job, entry.timetable.last.min(now))).collect();
        self.heap.clear();
        for (job, last) in concerned {
            self.aim(job, last);
        }
        let kept = self.jobs.iter().filter_map(|(job, entry)| Some(Reverse((entry.next?, *job))));
        self.heap.extend(kept);
    }
}
