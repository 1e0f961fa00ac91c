use super::*;

/// Around 100, within one percent.
fn noise(count: usize, seed: u64, level: f64) -> Vec<f64> {
    let mut chance = Seeded::new(seed);
    let one = |_| level * (1.0 + (float(chance.below(2001)) - 1000.0) / 100_000.0);
    (0..count).map(one).collect()
}

fn verdict(base: &[f64], head: &[f64]) -> Verdict {
    let compared = compare(base, head, CompareSettings::default());
    compared.unwrap().verdict
}

#[test]
fn a_clear_difference_is_found_with_its_size() {
    let (base, head) = (noise(20, 1, 100.0), noise(20, 2, 110.0));
    let compared = compare(&base, &head, CompareSettings::default()).unwrap();
    assert_eq!(compared.verdict, Verdict::Slower);
    assert!((compared.effect - 0.1).abs() < 0.01, "{compared:?}");
    let (low, high) = compared.interval.unwrap();
    assert!(low < 0.1 && 0.1 < high, "{compared:?}");
    assert_eq!(verdict(&head, &base), Verdict::Faster);
}

#[test]
fn equal_code_is_the_same_when_there_is_enough_of_it() {
    assert_eq!(
        verdict(&noise(30, 1, 100.0), &noise(30, 2, 100.0)),
        Verdict::Same
    );
}

#[test]
fn two_values_a_side_cannot_tell_a_small_difference() {
    assert_eq!(
        verdict(&[100.0, 102.0], &[103.0, 105.0]),
        Verdict::CannotTell
    );
}

#[test]
fn one_value_a_side_has_an_effect_and_no_interval() {
    let compared = compare(&[100.0], &[200.0], CompareSettings::default()).unwrap();
    assert!((compared.effect - 1.0).abs() < 1e-12);
    assert_eq!(
        (compared.interval, compared.verdict),
        (None, Verdict::CannotTell)
    );
}

#[test]
fn counts_that_never_vary_are_known_exactly() {
    let compared = compare(&[1000.0; 3], &[1500.0; 4], CompareSettings::default()).unwrap();
    assert_eq!(compared.verdict, Verdict::Slower);
    let (low, high) = compared.interval.unwrap();
    assert!(
        (low - 0.5).abs() < 1e-9 && (high - 0.5).abs() < 1e-9,
        "{compared:?}"
    );
    assert!((compared.base - 1000.0).abs() < 1e-6 && (compared.head - 1500.0).abs() < 1e-6);
    assert_eq!(verdict(&[7.0; 3], &[7.0; 3]), Verdict::Same);
    // Two that are alike may be so by chance.
    assert_eq!(verdict(&[100.0; 2], &[103.0; 2]), Verdict::CannotTell);
}

#[test]
fn what_could_have_been_found_shrinks_with_more_data() {
    let detectable = |count| {
        let (base, head) = (noise(count, 1, 100.0), noise(count, 2, 100.0));
        let settings = CompareSettings {
            gate: 0.0,
            ..CompareSettings::default()
        };
        compare(&base, &head, settings).unwrap().detectable.unwrap()
    };
    assert!(detectable(5) > detectable(20));
    assert!(detectable(20) > detectable(80));
}

#[test]
fn numbers_that_are_not_positive_are_not_compared() {
    assert_eq!(
        compare(&[0.0, 1.0], &[1.0, 2.0], CompareSettings::default()),
        None
    );
    assert_eq!(compare(&[], &[1.0], CompareSettings::default()), None);
}

#[test]
fn equal_code_is_seldom_called_different() {
    let wrong = (0..300)
        .filter(|round| {
            let (base, head) = (
                noise(6, round * 2 + 10, 100.0),
                noise(6, round * 2 + 11, 100.0),
            );
            let settings = CompareSettings {
                gate: 0.0,
                ..CompareSettings::default()
            };
            let verdict = compare(&base, &head, settings).unwrap().verdict;
            matches!(verdict, Verdict::Faster | Verdict::Slower)
        })
        .count();
    assert!(wrong <= 6, "{wrong} of 300 at 99 % confidence");
}
