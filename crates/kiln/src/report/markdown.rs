//! A report as Markdown, for comments on pull requests and for job summaries.

use super::View;
use super::escape::code;
use super::view::Line;

/// The results, alerts first. What does not fit into `limit` characters is left out from the end, and the page says so.
pub(crate) fn markdown(view: &View, limit: usize) -> String {
    let mut page = vec![
        format!("### Kiln: {}", code(&view.project)),
        String::new(),
        format!("**{}** · [report]({})", outcome(view), view.link),
        String::new(),
        facts(view),
    ];
    if let Some(paired) = &view.paired {
        page.push(String::new());
        for (place, row) in paired.table().iter().enumerate() {
            let cells: Vec<String> = if place == 0 {
                row.to_vec()
            } else {
                row.iter().map(|cell| code(cell)).collect()
            };
            page.push(format!("| {} |", cells.join(" | ")));
            if place == 0 {
                page.push("|:---|:---|---:|---:|---:|:---|".to_owned());
            }
        }
    }
    let alerts: Vec<&Line> = view.alerts().collect();
    if !alerts.is_empty() {
        page.extend([String::new(), "#### Alerts".to_owned(), String::new()]);
        page.extend(rows(&alerts, limit / 2));
    }
    if !view.lines.is_empty() {
        let used: usize = page.iter().map(|line| line.chars().count() + 1).sum();
        let every: Vec<&Line> = view.lines.iter().collect();
        page.extend([
            String::new(),
            "<details><summary>All results</summary>".to_owned(),
            String::new(),
        ]);
        page.extend(rows(&every, limit.saturating_sub(used + 200)));
        page.extend([String::new(), "</details>".to_owned()]);
    }
    page.join("\n") + "\n"
}

/// It may hold the words of a harness.
fn outcome(view: &View) -> String {
    let plain = view
        .outcome
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, ' ' | ',' | '.'));
    if plain {
        view.outcome.clone()
    } else {
        code(&view.outcome)
    }
}

fn facts(view: &View) -> String {
    let facts = view.facts.iter();
    let facts: Vec<String> = facts
        .map(|(name, value)| format!("{name} {}", code(value)))
        .collect();
    facts.join(" · ")
}

/// As many rows as fit.
fn rows(lines: &[&Line], room: usize) -> Vec<String> {
    let mut rows = vec![
        "| Benchmark | Measure | Value | Change | Limits | Alert |".to_owned(),
        "|:---|:---|---:|---:|:---|:---|".to_owned(),
    ];
    let mut used = rows.iter().map(String::len).sum::<usize>();
    for (place, line) in lines.iter().enumerate() {
        let row = row(line);
        used += row.chars().count() + 1;
        if used > room {
            rows.push(String::new());
            rows.push(format!("{} more are in the report.", lines.len() - place));
            break;
        }
        rows.push(row);
    }
    rows
}

fn row(line: &Line) -> String {
    let cell = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            code(text)
        }
    };
    let value = match &line.plot {
        Some(plot) => format!("[{}]({plot})", cell(&line.value)),
        None => cell(&line.value),
    };
    let alert = if line.alert.is_empty() {
        String::new()
    } else {
        format!("⚠️ {}", line.alert)
    };
    format!(
        "| {} | {} | {value} | {} | {} | {alert} |",
        cell(&line.benchmark),
        cell(&line.measure),
        cell(&line.change),
        cell(&line.limits),
    )
}
