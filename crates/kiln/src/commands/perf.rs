//! `kiln perf`.

use std::path::Path;

use kiln_client::{Client, Dimension, Error, Page, PerfQuery, Picture};
use kiln_insight::plot;
use kiln_model::Millis;
use kiln_model::v0::{Benchmark, Branch, Measure, PerfLine, Testbed};

use super::Context;
use super::chart::{Across, chart, title};
use super::connection::Connection;
use crate::cli::numbers::{Axis, Perf};
use crate::failure::{Exit, Failure};
use crate::report::{percent, quantity};
use crate::terminal::Terminal;

/// More plots than this are not read.
const MAX_PLOTS: usize = 10;
const ROWS: usize = 10;

pub(super) fn run(context: &Context<'_>, perf: &Perf) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let project = perf.project.project.as_str();
    let query = server.call(query(&server.client, perf))?;
    let terminal = context.terminal;
    if let Some(file) = &perf.img {
        let picture = Picture {
            format: format_of(file),
            x_axis: match perf.x_axis {
                Axis::DateTime => "date_time",
                Axis::Version => "version",
            },
            title: perf.title.as_deref(),
        };
        let bytes = server.call(server.client.draw_perf(project, &query, picture))?;
        std::fs::write(file, bytes).map_err(|error| {
            Failure::usage(format!("{} cannot be written", file.display())).because(&error)
        })?;
        terminal.note(&format!("The picture is in {}.", file.display()));
        return Ok(Exit::Ok);
    }
    if perf.csv {
        let csv = server.call(server.client.query_perf_as_csv(project, &query))?;
        terminal.data(csv.replace("\r\n", "\n").trim_end())?;
        return Ok(Exit::Ok);
    }
    let found = server.call(server.client.query_perf(project, &query))?;
    if perf.project.access.json.json {
        terminal.json(&found)?;
        return Ok(Exit::Ok);
    }
    let across = match perf.x_axis {
        Axis::DateTime => Across::Time,
        Axis::Version => Across::Version,
    };
    for line in found.results.iter().take(MAX_PLOTS) {
        print(terminal, line, across, usize::from(perf.columns))?;
    }
    if found.results.is_empty() {
        terminal.note("Nothing was measured there.");
    }
    if found.results.len() > MAX_PLOTS {
        let more = found.results.len() - MAX_PLOTS;
        terminal.note(&format!(
            "{more} more lines are not shown; choose some with --benchmark, --measure, --branch and --testbed"
        ));
    }
    Ok(Exit::Ok)
}

/// A line as a plot, with what it ends with and where it changed.
pub(super) fn print(
    terminal: &Terminal,
    line: &PerfLine,
    across: Across,
    columns: usize,
) -> Result<(), Failure> {
    let units = line.measure.units.as_str();
    terminal.data(&format!("{} in {units}", title(line)))?;
    let drawn = plot::terminal(&chart(line, across), columns, ROWS);
    terminal.data(drawn.trim_end_matches('\n'))?;
    if let Some(last) = line.metrics.last() {
        let alerts = line.metrics.iter().filter(|metric| metric.alert.is_some());
        let alerts = match alerts.count() {
            0 => String::new(),
            count => format!(", {count} with an alert (×)"),
        };
        let (count, value) = (line.metrics.len(), quantity(last.metric.value, units));
        terminal.data(&format!("  {count} results, the last {value}{alerts}"))?;
    }
    for change in line.change_points.iter().flatten() {
        let (before, after) = (
            quantity(change.before, units),
            quantity(change.after, units),
        );
        let share = percent((change.after - change.before) / change.before);
        let at = line
            .metrics
            .get(change.index)
            .map_or_else(String::new, |metric| {
                format!(" at version {}", metric.version.number)
            });
        terminal.data(&format!("  changed{at}: {before} → {after} ({share})"))?;
    }
    terminal.data("")
}

/// What was named, by its ids; all there is where nothing was named.
async fn query(client: &Client, perf: &Perf) -> Result<PerfQuery, Error> {
    let project = perf.project.project.as_str();
    let branches: Vec<Branch> = named(client, project, &perf.branch).await?;
    let testbeds: Vec<Testbed> = named(client, project, &perf.testbed).await?;
    let benchmarks: Vec<Benchmark> = named(client, project, &perf.benchmark).await?;
    let measures: Vec<Measure> = named(client, project, &perf.measure).await?;
    Ok(PerfQuery {
        branches: branches.iter().map(|branch| branch.uuid).collect(),
        testbeds: testbeds.iter().map(|testbed| testbed.uuid).collect(),
        benchmarks: benchmarks.iter().map(|benchmark| benchmark.uuid).collect(),
        measures: measures.iter().map(|measure| measure.uuid).collect(),
        start_time: perf.start_time.map(Millis::from_secs),
        end_time: perf.end_time.map(Millis::from_secs),
    })
}

async fn named<D: Dimension>(
    client: &Client,
    project: &str,
    references: &[String],
) -> Result<Vec<D>, Error> {
    if references.is_empty() {
        return client.list_dimension(project, Page::default()).await;
    }
    let mut found = Vec::with_capacity(references.len());
    for reference in references {
        found.push(client.get_dimension(project, reference).await?);
    }
    Ok(found)
}

fn format_of(file: &Path) -> &'static str {
    let is_svg = file
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    if is_svg { "svg" } else { "png" }
}
