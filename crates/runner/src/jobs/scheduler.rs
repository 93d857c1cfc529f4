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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;

    use super::*;

    /// A clock on which waiting for a time sets it to that time.
    struct Set(AtomicU64);

    impl Set {
        fn at(hour: u64, minute: u64) -> Arc<Self> {
            Arc::new(Self(AtomicU64::new(time(hour, minute).as_millis())))
        }

        fn to(&self, time: Time) {
            self.0.store(time.as_millis(), Ordering::SeqCst);
        }
    }

    #[async_trait]
    impl Clock for Set {
        fn now(&self) -> Time {
            Time::from_millis(self.0.load(Ordering::SeqCst))
        }

        async fn wait_until(&self, at: Time) {
            self.to(self.now().max(at));
        }
    }

    /// Returns a time on a fixed day.
    fn time(hour: u64, minute: u64) -> Time {
        Time::from_millis(1_767_225_600_000) + Span::from_mins(hour * 60 + minute)
    }

    fn on(schedule: &str, last: Time) -> JobTimetable {
        let schedule = Schedule::parse(schedule).unwrap();
        JobTimetable { schedule, zone: TimeZone::UTC, last, held: false }
    }

    fn stage(hour: u64, minute: u64, jobs: &[(&str, Time)]) -> (Arc<Set>, Scheduler) {
        let clock = Set::at(hour, minute);
        let mut scheduler = Scheduler::new(Arc::clone(&clock) as _);
        for (id, (schedule, last)) in (0..).zip(jobs) {
            scheduler.set_timetable(TaskId(id), on(schedule, *last));
        }
        (clock, scheduler)
    }

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);

    #[tokio::test]
    async fn each_is_due_at_its_time_and_none_before() {
        let jobs = [("every 5 minutes", time(9, 0)), ("3 9 * * *", time(9, 0))];
        let (clock, mut scheduler) = stage(9, 0, &jobs);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push((scheduler.wait_for_due().await, clock.now()));
        }
        let expected = [
            (vec![B], time(9, 3)),
            (vec![A], time(9, 5)),
            (vec![A], time(9, 10)),
            (vec![A], time(9, 15)),
        ];
        assert_eq!(seen, expected);
        assert_eq!(scheduler.job_due_time(B), Some(time(24 + 9, 3)));
    }

    #[test]
    fn what_was_missed_comes_once() {
        let jobs = [("every 5 minutes", time(3, 2)), ("*/5 * * * *", time(3, 2))];
        let (clock, mut scheduler) = stage(9, 1, &jobs);
        assert_eq!(scheduler.take_due().len(), 2);
        assert!(scheduler.take_due().is_empty(), "not once more for each time that was missed");
        assert_eq!(scheduler.job_due_time(A), Some(time(9, 6)));
        assert_eq!(scheduler.job_due_time(B), Some(time(9, 5)));
        // The machine was suspended.
        clock.to(time(15, 0));
        assert_eq!(scheduler.take_due().len(), 2);
        assert!(scheduler.take_due().is_empty());
    }

    #[test]
    fn a_beat_is_kept_however_late_it_is_looked_at() {
        let (clock, mut scheduler) = stage(9, 0, &[("every 5 minutes", time(9, 0))]);
        for beat in 1..50 {
            clock.to(time(9, 5 * beat) + Span::from_millis(40 * beat));
            assert_eq!(scheduler.take_due(), [A]);
            assert_eq!(scheduler.job_due_time(A), Some(time(9, 5 * beat + 5)));
        }
    }

    #[test]
    fn a_clock_that_is_set_back_stops_no_job_and_a_correction_repeats_nothing() {
        let jobs = [("every 5 minutes", time(33, 0)), ("0 3 * * *", time(33, 0))];
        let (clock, mut scheduler) = stage(33, 0, &jobs);
        scheduler.take_due();
        clock.to(time(9, 0));
        assert!(scheduler.take_due().is_empty());
        assert_eq!(scheduler.next_due_time(), Some(time(9, 5)));
        assert_eq!(scheduler.job_due_time(B), Some(time(27, 0)), "tomorrow, as the clock says now");
        clock.to(time(27, 0) + Span::from_millis(5));
        assert_eq!(scheduler.take_due().len(), 2);
        clock.to(time(27, 0) - Span::from_millis(5));
        assert!(scheduler.take_due().is_empty());
        clock.to(time(27, 1));
        assert!(scheduler.take_due().is_empty(), "three o'clock was");
        assert_eq!(scheduler.job_due_time(B), Some(time(51, 0)));
        assert!(scheduler.job_due_time(A).is_some_and(|at| at <= time(27, 5)));
    }

    #[test]
    fn who_is_held_has_missed_nothing_when_let_go() {
        let (clock, mut scheduler) = stage(9, 0, &[("every 5 minutes", time(9, 0))]);
        scheduler.set_held(A, true);
        clock.to(time(12, 0));
        assert!(scheduler.take_due().is_empty());
        assert_eq!(scheduler.next_due_time(), None);
        scheduler.set_held(A, false);
        assert!(scheduler.take_due().is_empty());
        assert_eq!(scheduler.next_due_time(), Some(time(12, 5)));
        scheduler.set_held(A, false);
        assert_eq!(scheduler.next_due_time(), Some(time(12, 5)), "it was let go before");
    }

    #[test]
    fn another_schedule_takes_effect_at_once_and_an_old_one_counts_for_nothing() {
        let (clock, mut scheduler) = stage(9, 0, &[("every 5 minutes", time(9, 0))]);
        scheduler.set_timetable(A, on("every hour", time(9, 0)));
        clock.to(time(9, 30));
        assert!(scheduler.take_due().is_empty());
        assert_eq!(scheduler.next_due_time(), Some(time(10, 0)));
        scheduler.remove_job(A);
        clock.to(time(11, 0));
        assert!(scheduler.take_due().is_empty());
        assert_eq!(scheduler.next_due_time(), None);
    }

    #[test]
    fn an_interval_counts_from_a_run_that_was_asked_for() {
        let jobs = [("every 5 minutes", time(9, 0)), ("5 9 * * *", time(9, 0))];
        let (clock, mut scheduler) = stage(9, 0, &jobs);
        clock.to(time(9, 3));
        scheduler.note_run(A, time(9, 3));
        scheduler.note_run(B, time(9, 3));
        assert_eq!(
            (scheduler.job_due_time(A), scheduler.job_due_time(B)),
            (Some(time(9, 8)), Some(time(9, 5)))
        );
    }

    #[test]
    fn a_last_run_in_the_future_is_a_clock_that_was_wrong() {
        let (_, mut scheduler) = stage(9, 0, &[("every 5 minutes", time(500, 0))]);
        assert_eq!(scheduler.next_due_time(), Some(time(9, 5)));
    }

    #[test]
    fn thousands_are_due_each_in_its_order() {
        let jobs: Vec<(String, Time)> =
            (0..10_000).map(|n| (format!("every {} seconds", 60 + n % 600), time(9, 0))).collect();
        let jobs: Vec<(&str, Time)> =
            jobs.iter().map(|(text, last)| (text.as_str(), *last)).collect();
        let (clock, mut scheduler) = stage(9, 0, &jobs);
        let mut fired = 0;
        for second in 1..=600 {
            clock.to(time(9, 0) + Span::from_secs(second));
            fired += scheduler.take_due().len();
        }
        let expected: u64 = (0..10_000_u64).map(|n| 600 / (60 + n % 600)).sum();
        assert_eq!(fired as u64, expected);
    }
}
