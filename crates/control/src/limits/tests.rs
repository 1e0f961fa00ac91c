use super::counters::MAX_CALLERS;
use super::*;

const NOON: Millis = Millis(1_700_000_000_000 / 86_400_000 * 86_400_000 + 43_200_000);

fn limits(text: &str) -> Limits {
    Limits::new(text.parse().unwrap())
}

fn exceeded(answer: Result<(), Denied>) -> Exceeded {
    match answer {
        Err(Denied::TooMany(exceeded)) => exceeded,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_limited_unless_somebody_says_so() {
    let limits = limits("off");
    for _ in 0..100_000 {
        limits
            .take(Limited::AddressRequests, Who::Row(1), NOON)
            .unwrap();
    }
}

#[test]
fn each_window_has_its_own_number_and_ends_by_itself() {
    let limits = limits("project-runs=2/3/4");
    let run = |wall| limits.take(Limited::ProjectRuns, Who::Row(1), wall);
    run(NOON).unwrap();
    run(NOON).unwrap();
    let refused = exceeded(run(NOON + Duration::from_secs(50)));
    assert_eq!((refused.allowed, refused.per), (2, "a minute"));
    assert_eq!(refused.again, Duration::from_secs(10));
    let next_minute = NOON + Duration::from_mins(1);
    run(next_minute).unwrap();
    assert_eq!(exceeded(run(next_minute)).per, "an hour");
    let next_hour = NOON + Duration::from_hours(1);
    run(next_hour).unwrap();
    assert_eq!(exceeded(run(next_hour)).per, "a day");
    run(NOON + Duration::from_hours(12)).unwrap();
}

#[test]
fn everybody_has_a_count_of_their_own() {
    let limits = limits("user-runs=1/1/1,user-requests=1/1/1");
    let take = |limited, row| limits.take(limited, Who::Row(row), NOON);
    take(Limited::UserRuns, 1).unwrap();
    take(Limited::UserRuns, 2).unwrap();
    take(Limited::UserRequests, 1).unwrap();
    assert_eq!(
        exceeded(take(Limited::UserRuns, 1)).limited,
        Limited::UserRuns
    );
}

#[test]
fn what_is_refused_or_only_asked_is_not_counted() {
    let limits = limits("user-runs=5/1/9");
    let who = Who::Row(1);
    for _ in 0..10 {
        limits.check(Limited::UserRuns, who, NOON).unwrap();
    }
    limits.take(Limited::UserRuns, who, NOON).unwrap();
    for _ in 0..10 {
        exceeded(limits.take(Limited::UserRuns, who, NOON));
    }
    let later = NOON + Duration::from_hours(1);
    limits.take(Limited::UserRuns, who, later).unwrap();
}

#[test]
fn addresses_of_one_network_of_the_newer_kind_count_together() {
    let limits = limits("address-runs=1/1/1");
    let run = |address: &str| {
        let who = Who::Address(address.parse().unwrap());
        limits.take(Limited::AddressRuns, who, NOON)
    };
    run("2001:db8:1:1::1").unwrap();
    exceeded(run("2001:db8:1:1:ffff::2"));
    run("2001:db8:1:2::1").unwrap();
    run("192.0.2.1").unwrap();
    run("192.0.2.2").unwrap();
}

#[test]
fn memory_ends_somewhere_and_begins_anew_with_the_day() {
    let limits = limits("user-runs=1/1/1");
    let callers = i64::try_from(MAX_CALLERS).unwrap();
    for row in 0..callers {
        limits.count(Limited::UserRuns, Who::Row(row), NOON);
    }
    let newcomer = Who::Row(callers);
    for _ in 0..2 {
        limits.take(Limited::UserRuns, newcomer, NOON).unwrap();
    }
    exceeded(limits.take(Limited::UserRuns, Who::Row(0), NOON));
    let tomorrow = NOON + Duration::from_hours(24);
    limits.take(Limited::UserRuns, newcomer, tomorrow).unwrap();
    exceeded(limits.take(Limited::UserRuns, newcomer, tomorrow));
}

#[test]
fn settings_are_read_as_they_are_shown() {
    for text in [
        "off",
        "address-requests=1/2/3",
        "address-runs=1/2/3,runner-connects=4/5/6",
    ] {
        assert_eq!(text.parse::<RateLimits>().unwrap().to_string(), text);
    }
    let stock: RateLimits = "stock".parse().unwrap();
    assert_eq!(stock.to_string().parse(), Ok(stock));
    for wrong in [
        "on",
        "user-runs",
        "user-runs=1/2",
        "user-runs=1/2/3/4",
        "moon-runs=1/2/3",
    ] {
        assert!(wrong.parse::<RateLimits>().is_err(), "{wrong}");
    }
}

#[test]
fn an_organization_moves_as_many_bytes_a_day_as_its_plan_allows() {
    let limits = limits("registry-bytes=10/20/30");
    let check = |tier, wall| limits.check_bytes(1, tier, wall);
    limits.count_bytes(1, 15, NOON);
    let refused = exceeded(check(Tier::Unclaimed, NOON));
    assert_eq!((refused.allowed, refused.per), (10, "a day"));
    assert_eq!(refused.again, Duration::from_hours(12));
    check(Tier::Free, NOON).unwrap();
    limits.count_bytes(1, 5, NOON);
    exceeded(check(Tier::Free, NOON));
    check(Tier::Enterprise, NOON).unwrap();
    limits.check_bytes(2, Tier::Unclaimed, NOON).unwrap();
    check(Tier::Unclaimed, NOON + Duration::from_hours(12)).unwrap();
}

#[test]
fn bandwidths_are_written_as_they_are_read() {
    for text in [
        "registry-bytes=1/2/3",
        "user-runs=1/2/3,registry-bytes=4/5/6",
    ] {
        assert_eq!(text.parse::<RateLimits>().unwrap().to_string(), text);
    }
    assert!("registry-bytes=1/2".parse::<RateLimits>().is_err());
}

#[test]
fn each_slot_of_a_runner_has_connections_of_its_own() {
    let limits = limits("runner-connects=1/1/1");
    let connect = |who| limits.take(Limited::RunnerConnects, who, NOON);
    connect(Who::Row(1)).unwrap();
    connect(Who::Slot(1, 1)).unwrap();
    connect(Who::Slot(1, 2)).unwrap();
    exceeded(connect(Who::Slot(1, 2)));
}
