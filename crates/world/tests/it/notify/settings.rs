//! Settings of a channel that a person may write.

use unstuck_core::tell::NotificationLevel;
use unstuck_core::time::{Span, Time};
use unstuck_world::notify::ChannelSettings;

use crate::notify::channels::{channel, settings};

#[test]
fn what_is_not_said_is_as_quiet_as_can_be() {
    let plain = settings("kind='desktop'");
    assert_eq!((plain.level, plain.quiet_hours), (NotificationLevel::Questions, None));
    let set = settings("kind='desktop'\nlevel='all'\nquiet_hours='22:00-07:00'");
    assert_eq!(set.level, NotificationLevel::All);
    assert_eq!(set.quiet_hours.unwrap().to_string(), "22:00-07:00");
}

#[test]
fn what_is_unknown_is_refused_by_name() {
    for (toml, named) in [
        ("kind='pigeon'", "pigeon"),
        ("kind='slack'\nurl='https://x'\ncolour='red'", "colour"),
        ("kind='desktop'\nurl='https://x'", "url"),
        ("kind='slack'", "url"),
        ("kind='slack'\nurl=' '", "empty"),
        ("kind='desktop'\nlevel='everything'", "everything"),
        ("kind='desktop'\nquiet_hours='at night'", "at night"),
        ("url='https://x'", "kind"),
    ] {
        let error = toml::from_str::<ChannelSettings>(toml).unwrap_err().to_string();
        assert!(error.contains(named), "{toml}: {error}");
    }
}

#[test]
fn a_channel_knows_when_to_be_quiet() {
    let channel = channel("kind='desktop'\nlevel='failures'\nquiet_hours='22:00-07:00'");
    assert_eq!((channel.name(), channel.level()), ("phone", NotificationLevel::Failures));
    // 2023-11-14T22:13:20Z, which is 23:13 in Berlin.
    let night = Time::from_millis(1_700_000_000_000);
    let end = channel.quiet_until(night).unwrap();
    assert_eq!(end, Time::from_millis(1_700_028_000_000));
    assert_eq!(channel.quiet_until(end), None);
    assert_eq!(channel.quiet_until(night + Span::from_hours(12)), None);
}
