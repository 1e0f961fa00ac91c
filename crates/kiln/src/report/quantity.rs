//! Numbers with their units, as short as they can be read.

const TIMES: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)];
const SIZES: [(&str, f64); 4] = [
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("B", 1.0),
];

/// A value of a measure: times and sizes in the unit that fits, others in the measure's own.
pub(crate) fn quantity(value: f64, units: &str) -> String {
    match units {
        "nanoseconds (ns)" => scaled(value, &TIMES),
        "seconds" => scaled(value * 1e9, &TIMES),
        "bytes" => scaled(value, &SIZES),
        _ => {
            let name = units.split(" (").next().unwrap_or(units);
            format!("{} {name}", number(value))
        }
    }
}

/// A share with its sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:+.1}%", share * 100.0)
}

fn scaled(value: f64, scale: &[(&str, f64); 4]) -> String {
    let fits = |(_, size): &&(&str, f64)| value.abs() >= *size;
    let (unit, size) = scale.iter().find(fits).unwrap_or(&scale[3]);
    format!("{} {unit}", number(value / size))
}

/// About four digits; whole numbers stay whole.
fn number(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-3..1e12).contains(&size) {
        return format!("{value:.3e}");
    }
    if size >= 1e3 || value.fract() == 0.0 {
        return grouped(value);
    }
    let digits = match size {
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// With a comma before each three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 {
        text.insert(0, '-');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_told_in_the_unit_that_fits() {
        assert_eq!(quantity(950.0, "nanoseconds (ns)"), "950 ns");
        assert_eq!(quantity(1_234.5, "nanoseconds (ns)"), "1.234 µs");
        assert_eq!(quantity(2.5e9, "nanoseconds (ns)"), "2.500 s");
        assert_eq!(quantity(0.25, "nanoseconds (ns)"), "0.2500 ns");
        assert_eq!(quantity(0.25, "seconds"), "250 ms");
        assert_eq!(quantity(1_536.0, "bytes"), "1.500 KiB");
        assert_eq!(quantity(0.0, "bytes"), "0 B");
    }

    #[test]
    fn other_units_stay_what_they_are() {
        assert_eq!(
            quantity(1_234_567.8, "operations / second"),
            "1,234,568 operations / second"
        );
        assert_eq!(quantity(-12.5, "Measure (units)"), "-12.50 Measure");
        assert_eq!(quantity(1e-9, "errors"), "1.000e-9 errors");
    }

    #[test]
    fn shares_have_a_sign() {
        assert_eq!(percent(0.034), "+3.4%");
        assert_eq!(percent(-0.5), "-50.0%");
    }
}
