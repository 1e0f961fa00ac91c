//! `kiln report`.

use kiln_client::ReportFilter;
use kiln_model::v0::Report as Found;

use super::Context;
use super::connection::Connection;
use super::run::print_report;
use super::table;
use crate::cli::numbers::{Report, ReportList, ReportShow};
use crate::cli::run::Format;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: &Report) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    match command {
        Report::List(asked) => list(context, &server, asked)?,
        Report::Show(asked) => show(context, &server, asked)?,
    }
    Ok(Exit::Ok)
}

fn list(context: &Context<'_>, server: &Connection, asked: &ReportList) -> Result<(), Failure> {
    let filter = ReportFilter {
        branch: asked.only.branch.as_deref(),
        testbed: asked.only.testbed.as_deref(),
    };
    let (project, page) = (asked.project.project.as_str(), asked.paging.page());
    let found = server.call(server.client.list_reports(project, filter, page))?;
    if asked.project.access.json.json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 7]> = found.iter().map(row).collect();
    let names = [
        "report", "status", "branch", "version", "testbed", "started", "alerts",
    ];
    table::print(context.terminal, names, &rows)
}

fn show(context: &Context<'_>, server: &Connection, asked: &ReportShow) -> Result<(), Failure> {
    let project = asked.project.project.as_str();
    let found = server.call(server.client.get_report(project, asked.report))?;
    let format = if asked.project.access.json.json {
        Format::Json
    } else {
        asked.format
    };
    print_report(context, format, &server.client, &found)
}

fn row(report: &Found) -> [String; 7] {
    let version = report.branch.head.version.as_ref();
    [
        report.uuid.to_string(),
        report.status.clone().unwrap_or_else(|| "-".to_owned()),
        report.branch.name.to_string(),
        version.map_or_else(|| "-".to_owned(), |version| version.number.to_string()),
        report.testbed.name.to_string(),
        report.start_time.to_string(),
        report.counts.alerts.active.to_string(),
    ]
}
