use super::*;

/// Levels of so many points each, with a little noise that repeats itself.
fn steps(levels: &[f64], length: usize) -> Vec<f64> {
    let mut chance = Seeded::new(11);
    let noise = |chance: &mut Seeded| float(chance.below(1000)) / 1000.0 - 0.5;
    levels
        .iter()
        .flat_map(|level| vec![*level; length])
        .map(|level| level + noise(&mut chance))
        .collect()
}

fn indexes(changes: &[ChangePoint]) -> Vec<usize> {
    changes.iter().map(|change| change.index).collect()
}

#[test]
fn a_step_is_found_where_it_is_with_its_levels() {
    let series = steps(&[100.0, 103.0], 20);
    let changes = change_points(&series, ChangeSettings::default());
    assert_eq!(indexes(&changes), [20]);
    assert!((changes[0].before - 100.0).abs() < 0.5);
    assert!((changes[0].after - 103.0).abs() < 0.5);
    assert!(changes[0].probability <= 0.01);
}

#[test]
fn a_bump_is_two_changes() {
    let series = steps(&[10.0, 14.0, 10.0], 15);
    assert_eq!(
        indexes(&change_points(&series, ChangeSettings::default())),
        [15, 30]
    );
}

#[test]
fn noise_alone_has_no_change() {
    for seed in 0..20 {
        let mut chance = Seeded::new(seed);
        let series: Vec<f64> = (0..60).map(|_| float(chance.below(1000))).collect();
        let settings = ChangeSettings {
            significance: 0.005,
            ..ChangeSettings::default()
        };
        assert!(change_points(&series, settings).is_empty(), "seed {seed}");
    }
}

#[test]
fn a_series_that_does_not_vary_has_no_change() {
    assert!(change_points(&[5.0; 40], ChangeSettings::default()).is_empty());
}

#[test]
fn a_series_too_short_to_split_has_no_change() {
    assert!(change_points(&[], ChangeSettings::default()).is_empty());
    assert!(change_points(&[1.0, 2.0, 3.0], ChangeSettings::default()).is_empty());
}

#[test]
fn what_is_found_as_the_series_grows_is_what_is_found_at_once() {
    let series = steps(&[1.0, 5.0, 9.0, 2.0], STEP - 30);
    let settings = ChangeSettings {
        permutations: 99,
        ..ChangeSettings::default()
    };
    let mut settled = Settled::default();
    let mut lengths = Vec::new();
    for end in [10, 300, 310, 600, series.len()] {
        let grown = grow_change_points(&mut settled, &series[..end], settings);
        assert_eq!(
            grown,
            change_points(&series[..end], settings),
            "{end} points"
        );
        lengths.push(settled.length());
    }
    assert_eq!(lengths, [0, STEP, STEP, 2 * STEP, 3 * STEP]);
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let series = steps(&[1.0, 1.3, 1.1], 20);
    let settings = ChangeSettings::default();
    assert_eq!(
        change_points(&series, settings),
        change_points(&series, settings)
    );
}

#[test]
fn a_change_stays_found_however_long_the_series_becomes() {
    let series = steps(&[1.0, 50.0, 100.0, 100.0, 100.0], STEP);
    let settings = ChangeSettings {
        permutations: 99,
        ..ChangeSettings::default()
    };
    assert_eq!(indexes(&change_points(&series, settings)), [STEP, 2 * STEP]);
}
