//! Tests of schedules on the calendars and clocks of real places.

mod clocks;
mod reading;
mod scheduling;
