//! The scheduler: a heap of times, and the machine's clock to wait for the first of them.
//!
//! A time that was missed, because no process was running, the machine slept or its clock was set
//! forward, fires once, however often it was missed. A clock that is set back stops no job. A job
//! that is on hold has no time, and has missed none when it is released.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use jiff::tz::TimeZone;
use unstuck_core::engine::TaskId;
use unstuck_core::time::{Span, Time};

use super::schedule::Schedule;
use crate::event_loop::Clock;

/// Minimum step by which a clock counts as set back: after a smaller correction, a calendar time
/// that has fired does not fire again.
const CORRECTION_MAX: Span = Span::from_mins(1);

/// The schedule of one job, with its zone and state.
#[derive(Clone, Debug)]
pub struct JobTimetable {
    /// The job's schedule.
    pub schedule: Schedule,
    /// The time zone of the schedule.
    pub zone: TimeZone,
    /// The time of the last run, or at which the job was first seen.
    pub last: Time,
    /// Set if the job is on hold.
    pub held: bool,
}

/// The scheduler of all jobs that have a schedule.
pub struct Scheduler {
    clock: Arc<dyn Clock>,
    jobs: BTreeMap<TaskId, ScheduledJob>,
    /// Times with their jobs. An entry that differs from the job's `next` is obsolete.
    heap: BinaryHeap<Reverse<(Time, TaskId)>>,
    /// The time at the last look at the clock.
    seen: Time,
}

struct ScheduledJob {
    timetable: JobTimetable,
    next: Option<Time>,
}

impl Scheduler {
    /// Creates a scheduler without jobs.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let seen = clock.now();
        Self { clock, jobs: BTreeMap::new(), heap: BinaryHeap::new(), seen }
    }

    /// Sets the timetable of a job.
    pub fn set_timetable(&mut self, job: TaskId, timetable: JobTimetable) {
        let last = timetable.last.min(self.clock.now());
        let timetable = JobTimetable { last, ..timetable };
        self.jobs.insert(job, ScheduledJob { timetable, next: None });
        self.schedule_next(job, last);
    }

    /// Removes the timetable of a job.
    pub fn remove_job(&mut self, job: TaskId) {
        self.jobs.remove(&job);
    }

    /// Records that a job was run or fired: an interval counts from there.
    pub fn note_run(&mut self, job: TaskId, at: Time) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if entry.timetable.schedule.fixed_interval().is_some() && at > entry.timetable.last {
            self.schedule_next(job, at);
        }
    }

    /// Puts a job on hold, or releases it.
    pub fn set_held(&mut self, job: TaskId, held: bool) {
        let now = self.clock.now();
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if entry.timetable.held != held {
            entry.timetable.held = held;
            self.schedule_next(job, now);
        }
    }

    /// Returns the time at which a job is due.
    pub fn job_due_time(&self, job: TaskId) -> Option<Time> {
        self.jobs.get(&job)?.next
    }

    /// Returns the time at which the next job is due.
    pub fn next_due_time(&mut self) -> Option<Time> {
        while let Some(Reverse((at, job))) = self.heap.peek() {
            if self.jobs.get(job).and_then(|entry| entry.next) == Some(*at) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Waits until at least one job is due, and returns those that are. Without jobs it waits for
    /// ever.
    pub async fn wait_for_due(&mut self) -> Vec<TaskId> {
        loop {
            let due = self.take_due();
            if !due.is_empty() {
                return due;
            }
            let clock = Arc::clone(&self.clock);
            match self.next_due_time() {
                Some(at) => clock.wait_until(at).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Returns the jobs that are due now, and sets the next time of each.
    pub fn take_due(&mut self) -> Vec<TaskId> {
        let now = self.clock.now();
        self.handle_clock_change(now);
        let mut due = Vec::new();
        while let Some(at) = self.next_due_time().filter(|at| *at <= now) {
            let Some(Reverse((_, job))) = self.heap.pop() else { break };
            due.push(job);
            self.schedule_next(job, self.next_count_start(job, at, now));
        }
        due
    }

    /// Returns the time from which the next one is counted: an interval keeps its rhythm unless it
    /// missed a time.
    fn next_count_start(&self, job: TaskId, due: Time, now: Time) -> Time {
        let interval =
            self.jobs.get(&job).and_then(|entry| entry.timetable.schedule.fixed_interval());
        if interval.is_some_and(|interval| due + interval > now) { due } else { now }
    }

    /// Sets the next time of a job, counted from `last`.
    fn schedule_next(&mut self, job: TaskId, last: Time) {
        let Some(ScheduledJob { timetable, next }) = self.jobs.get_mut(&job) else { return };
        timetable.last = last;
        let aimed = timetable.schedule.next_after(last, &timetable.zone);
        *next = aimed.filter(|_| !timetable.held);
        if let Some(at) = *next {
            self.heap.push(Reverse((at, job)));
        }
    }

    /// Recomputes the times if the clock was set back, because otherwise all jobs would wait for a
    /// time that is far away now.
    fn handle_clock_change(&mut self, now: Time) {
        let back = self.seen.since(now);
        self.seen = now;
        if back == Span::ZERO {
            return;
        }
        let is_concerned = |entry: &&ScheduledJob| {
            back >= CORRECTION_MAX || entry.timetable.schedule.fixed_interval().is_some()
        };
        let concerned = self.jobs.iter().filter(|(_, entry)| is_concerned(entry));
        let concerned: Vec<(TaskId, Time)> =
            concerned.map(|(job, entry)| (*job, entry.timetable.last.min(now))).collect();
        self.heap.clear();
        for (job, last) in concerned {
            self.schedule_next(job, last);
        }
        let kept = self.jobs.iter().filter_map(|(job, entry)| Some(Reverse((entry.next?, *job))));
        self.heap.extend(kept);
    }
}
