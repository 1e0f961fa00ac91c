//! `kiln doctor`.

mod boot;

use std::sync::Arc;

use kiln_sandbox::{Check, Programs, Survey};
use kiln_store::SystemClock;
use serde::Serialize;

use super::Context;
use crate::cli::{Doctor, DoctorCommand};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, doctor: &Doctor) -> Result<Exit, Failure> {
    match &doctor.command {
        Some(DoctorCommand::Boot(request)) => boot::run(context, request),
        None => show(context, doctor),
    }
}

fn show(context: &Context<'_>, doctor: &Doctor) -> Result<Exit, Failure> {
    let programs = programs(&doctor.programs);
    let survey = Survey::of_this_host(&programs, Arc::new(SystemClock::new()));
    let report = Report {
        auto: survey.auto,
        findings: [("kvm", &survey.kvm), ("guest kernel", &survey.kernel)]
            .into_iter()
            .chain(
                survey
                    .backends
                    .iter()
                    .map(|finding| (finding.name, &finding.check)),
            )
            .chain([
                ("limits", &survey.limits),
                ("disk", &survey.disk),
                ("network", &survey.network),
            ])
            .map(|(name, check)| Line::new(name, check))
            .collect(),
    };
    if doctor.json.json {
        context.terminal.json(&report)?;
    } else {
        report.print(context)?;
    }
    match report.auto {
        Some(_) => Ok(Exit::Ok),
        None => Err(Failure::unexpected("no back end works on this host")
            .hint("mend one of them: what each lacks is above")),
    }
}

fn programs(given: &crate::cli::Programs) -> Programs {
    Programs {
        firecracker: given.firecracker.clone(),
        jailer: given.jailer.clone(),
        qemu: given.qemu.clone(),
        kernel: given.kernel.clone(),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    auto: Option<&'static str>,
    findings: Vec<Line<'a>>,
}

impl Report<'_> {
    fn print(&self, context: &Context<'_>) -> Result<(), Failure> {
        for line in &self.findings {
            let mark = if line.works { "ok" } else { "no" };
            context
                .terminal
                .data(&format!("{mark:<3} {:<13} {}", line.name, line.detail))?;
            if let Some(fix) = line.fix {
                context
                    .terminal
                    .data(&format!("    {:<13} fix: {fix}", ""))?;
            }
        }
        let auto = self.auto.unwrap_or("nothing");
        context.terminal.data(&format!("\nauto takes: {auto}"))
    }
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'static str,
    works: bool,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn new(name: &'static str, check: &'a Check) -> Self {
        Self {
            name,
            works: check.works,
            detail: &check.detail,
            fix: check.fix.as_deref(),
        }
    }
}
