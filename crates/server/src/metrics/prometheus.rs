//! Metrics in the text format of Prometheus: dots become underscores, and the unit stands at the end of a name.

use std::fmt::{Display, Write as _};

use super::{BUCKETS, Family, Histogram, Reading};

pub(crate) fn render(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        let plain = family.name.replace('.', "_");
        let (name, kind) = match family.readings.first() {
            Some((_, Reading::Count(_))) => (format!("{plain}_total"), "counter"),
            Some((_, Reading::Spread(_))) => (format!("{plain}_seconds"), "histogram"),
            Some((_, Reading::Level(_))) | None => (plain, "gauge"),
        };
        writeln!(text, "# TYPE {name} {kind}").expect("a string takes everything");
        for (attribute, reading) in &family.readings {
            let attribute = attribute.as_ref();
            let label = attribute.map(|(key, value)| {
                let key = key.replace('.', "_");
                format!("{key}=\"{value}\"")
            });
            match reading {
                Reading::Count(value) | Reading::Level(value) => {
                    line(&mut text, &name, &braced(label.as_deref()), value);
                }
                Reading::Spread(histogram) => {
                    spread(&mut text, &name, label.as_deref(), histogram);
                }
            }
        }
    }
    text
}

fn spread(text: &mut String, name: &str, label: Option<&str>, histogram: &Histogram) {
    let comma = label.map(|label| format!("{label},")).unwrap_or_default();
    let bucket = format!("{name}_bucket");
    for (count, limit) in histogram.buckets.iter().zip(BUCKETS) {
        line(text, &bucket, &format!("{{{comma}le=\"{limit}\"}}"), count);
    }
    let all = format!("{{{comma}le=\"+Inf\"}}");
    line(text, &bucket, &all, histogram.count);
    let label = braced(label);
    line(text, &format!("{name}_sum"), &label, histogram.sum);
    line(text, &format!("{name}_count"), &label, histogram.count);
}

fn braced(label: Option<&str>) -> String {
    label
        .map(|label| format!("{{{label}}}"))
        .unwrap_or_default()
}

fn line(text: &mut String, name: &str, label: &str, value: impl Display) {
    writeln!(text, "{name}{label} {value}").expect("a string takes everything");
}
