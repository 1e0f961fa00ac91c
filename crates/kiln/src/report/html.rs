//! A report as HTML: a fragment to be put into a page.

use super::View;
use super::escape::html as escaped;
use super::view::Line;

/// The results, alerts first.
pub(crate) fn html(view: &View) -> String {
    let mut page = vec![
        format!("<h3>Kiln: {}</h3>", escaped(&view.project)),
        format!(
            "<p><strong>{}</strong> · <a href=\"{}\">report</a></p>",
            escaped(&view.outcome),
            escaped(&view.link)
        ),
        "<dl>".to_owned(),
    ];
    page.extend(view.facts.iter().map(|(name, value)| {
        let value = escaped(value);
        format!("<dt>{name}</dt><dd>{value}</dd>")
    }));
    page.push("</dl>".to_owned());
    if let Some(paired) = &view.paired {
        page.push("<table>".to_owned());
        for (place, row) in paired.table().iter().enumerate() {
            let name = if place == 0 { "th" } else { "td" };
            let cells = row
                .iter()
                .map(|cell| format!("<{name}>{}</{name}>", escaped(cell)));
            page.push(format!("<tr>{}</tr>", cells.collect::<String>()));
        }
        page.push("</table>".to_owned());
    }
    let alerts: Vec<&Line> = view.alerts().collect();
    if !alerts.is_empty() {
        page.push("<h4>Alerts</h4>".to_owned());
        page.extend(table(&alerts));
    }
    if !view.lines.is_empty() {
        let every: Vec<&Line> = view.lines.iter().collect();
        page.push("<details><summary>All results</summary>".to_owned());
        page.extend(table(&every));
        page.push("</details>".to_owned());
    }
    page.join("\n") + "\n"
}

fn table(lines: &[&Line]) -> Vec<String> {
    let names = ["Benchmark", "Measure", "Value", "Change", "Limits", "Alert"];
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("<th>{name}</th>"))
        .collect();
    let mut rows = vec![
        "<table>".to_owned(),
        format!("<thead><tr>{}</tr></thead>", names.concat()),
        "<tbody>".to_owned(),
    ];
    rows.extend(lines.iter().map(|line| row(line)));
    rows.extend(["</tbody>".to_owned(), "</table>".to_owned()]);
    rows
}

fn row(line: &Line) -> String {
    let value = match &line.plot {
        Some(plot) => format!("<a href=\"{}\">{}</a>", escaped(plot), escaped(&line.value)),
        None => escaped(&line.value),
    };
    let cells = [
        escaped(&line.benchmark),
        escaped(&line.measure),
        value,
        escaped(&line.change),
        escaped(&line.limits),
        escaped(&line.alert),
    ];
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| format!("<td>{cell}</td>"))
        .collect();
    format!("<tr>{}</tr>", cells.concat())
}
