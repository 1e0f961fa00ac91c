//! `kiln alert`.

use kiln_model::v0::{Alert as Found, Boundary};

use super::Context;
use super::connection::Connection;
use super::table::{self, or_dash};
use crate::cli::numbers::{Alert, AlertList, AlertNamed};
use crate::failure::{Exit, Failure};
use crate::report::quantity;

pub(super) fn run(context: &Context<'_>, command: &Alert) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    match command {
        Alert::List(asked) => list(context, &server, asked)?,
        Alert::Show(named) => {
            let project = named.project.project.as_str();
            let found = server.call(server.client.get_alert(project, named.alert))?;
            show(context, named, &found)?;
        }
        Alert::Dismiss(named) => set(context, &server, named, "dismissed")?,
        Alert::Silence(named) => set(context, &server, named, "silenced")?,
        Alert::Activate(named) => set(context, &server, named, "active")?,
    }
    Ok(Exit::Ok)
}

fn list(context: &Context<'_>, server: &Connection, asked: &AlertList) -> Result<(), Failure> {
    let (project, page) = (asked.project.project.as_str(), asked.paging.page());
    let found = server.call(
        server
            .client
            .list_alerts(project, asked.status.as_deref(), page),
    )?;
    if asked.project.access.json.json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 7]> = found.iter().map(row).collect();
    let names = [
        "alert",
        "status",
        "benchmark",
        "measure",
        "value",
        "limit",
        "created",
    ];
    table::print(context.terminal, names, &rows)
}

fn set(
    context: &Context<'_>,
    server: &Connection,
    named: &AlertNamed,
    status: &str,
) -> Result<(), Failure> {
    let project = named.project.project.as_str();
    let changing = server.client.set_alert_status(project, named.alert, status);
    let changed = server.call(changing)?;
    if named.project.access.json.json {
        return context.terminal.json(&changed);
    }
    context
        .terminal
        .data(&format!("{} is {}", changed.uuid, changed.status))
}

fn show(context: &Context<'_>, named: &AlertNamed, found: &Found) -> Result<(), Failure> {
    if named.project.access.json.json {
        return context.terminal.json(found);
    }
    let threshold = &found.threshold;
    let units = threshold.measure.units.as_str();
    let test = threshold.model.as_ref().map(|model| &model.test);
    let baseline = found.boundary.baseline;
    let baseline = baseline.map(|baseline| quantity(baseline, units));
    table::print_one(
        context.terminal,
        &[
            ("alert", &found.uuid),
            ("status", &found.status),
            ("benchmark", &found.benchmark.name),
            ("measure", &threshold.measure.name),
            ("value", &quantity(found.metric.value, units)),
            ("baseline", &or_dash(baseline.as_ref())),
            ("limit", &limit(found)),
            ("branch", &threshold.branch.name),
            ("testbed", &threshold.testbed.name),
            ("test", &or_dash(test)),
            ("threshold", &threshold.uuid),
            ("report", &found.report),
            ("iteration", &found.iteration),
            ("created", &found.created),
        ],
    )
}

fn row(alert: &Found) -> [String; 7] {
    let measure = &alert.threshold.measure;
    [
        alert.uuid.to_string(),
        alert.status.clone(),
        alert.benchmark.name.clone(),
        measure.slug.to_string(),
        quantity(alert.metric.value, &measure.units),
        limit(alert),
        alert.created.to_string(),
    ]
}

/// The one that was passed.
fn limit(alert: &Found) -> String {
    let Boundary {
        lower_limit,
        upper_limit,
        ..
    } = alert.boundary;
    let (words, limit) = if alert.limit == "lower" {
        ("at least", lower_limit)
    } else {
        ("at most", upper_limit)
    };
    limit.map_or_else(
        || "-".to_owned(),
        |limit| {
            format!(
                "{words} {}",
                quantity(limit, &alert.threshold.measure.units)
            )
        },
    )
}
