//! `kiln threshold`.

use kiln_client::{Client, Error, Page, ThresholdFilter};
use kiln_model::v0::{Benchmark, Model, NewModel, NewThreshold, Threshold as Found};

use super::Context;
use super::connection::Connection;
use super::table;
use crate::cli::numbers::{Threshold, ThresholdList, ThresholdSet};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: &Threshold) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let json = command.access().json.json;
    match command {
        Threshold::List(asked) => list(context, &server, asked)?,
        Threshold::Show(named) => {
            let project = named.project.project.as_str();
            let found = server.call(server.client.get_threshold(project, named.threshold))?;
            show(context, json, &found)?;
        }
        Threshold::Set(asked) => {
            let made = server.call(set(&server.client, asked))?;
            show(context, json, &made)?;
        }
        Threshold::Rm(named) => {
            let project = named.project.project.as_str();
            server.call(server.client.delete_threshold(project, named.threshold))?;
        }
    }
    Ok(Exit::Ok)
}

fn list(context: &Context<'_>, server: &Connection, asked: &ThresholdList) -> Result<(), Failure> {
    let filter = ThresholdFilter {
        branch: asked.only.branch.as_deref(),
        testbed: asked.only.testbed.as_deref(),
        measure: asked.measure.as_deref(),
    };
    let (project, page) = (asked.project.project.as_str(), asked.paging.page());
    let found = server.call(server.client.list_thresholds(project, filter, page))?;
    if asked.project.access.json.json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 6]> = found.iter().map(row).collect();
    let names = [
        "threshold",
        "branch",
        "testbed",
        "measure",
        "benchmark",
        "model",
    ];
    table::print(context.terminal, names, &rows)
}

/// Gives the threshold of these dimensions a model; makes it when there is none.
async fn set(client: &Client, asked: &ThresholdSet) -> Result<Found, Error> {
    let project = asked.project.project.as_str();
    let model = model(asked);
    if let Some(found) = find(client, asked).await? {
        return client.replace_model(project, found.uuid, &model).await;
    }
    let new = NewThreshold {
        branch: asked.branch.clone(),
        testbed: asked.testbed.clone(),
        measure: asked.measure.clone(),
        benchmark: asked.benchmark.clone(),
        model,
    };
    client.create_threshold(project, &new).await
}

async fn find(client: &Client, asked: &ThresholdSet) -> Result<Option<Found>, Error> {
    let project = asked.project.project.as_str();
    let benchmark = match &asked.benchmark {
        Some(reference) => {
            let found = client.get_dimension::<Benchmark>(project, reference);
            Some(found.await?.uuid)
        }
        None => None,
    };
    let filter = ThresholdFilter {
        branch: Some(&asked.branch),
        testbed: Some(&asked.testbed),
        measure: Some(&asked.measure),
    };
    // A dimension that is not there yet has no threshold; whether it may be made is for the server to say.
    let found = match client
        .list_thresholds(project, filter, Page::default())
        .await
    {
        Err(Error::NotFound(_)) => Vec::new(),
        listed => listed?,
    };
    let mut found = found.into_iter();
    Ok(found.find(|found| found.benchmark.as_ref().map(|known| known.uuid) == benchmark))
}

fn model(asked: &ThresholdSet) -> NewModel {
    NewModel {
        test: asked.test.clone(),
        min_sample_size: asked.min_sample_size,
        max_sample_size: asked.max_sample_size,
        window: asked.window,
        lower_boundary: asked.lower_boundary,
        upper_boundary: asked.upper_boundary,
        min_effect: asked.min_effect,
        false_discovery_rate: asked.false_discovery_rate,
        ignore: asked.ignore.clone(),
    }
}

fn show(context: &Context<'_>, json: bool, found: &Found) -> Result<(), Failure> {
    if json {
        return context.terminal.json(found);
    }
    table::print_one(
        context.terminal,
        &[
            ("threshold", &found.uuid),
            ("branch", &found.branch.name),
            ("testbed", &found.testbed.name),
            ("measure", &found.measure.name),
            ("benchmark", &benchmark(found)),
            ("model", &words(found.model.as_ref())),
            ("created", &found.created),
            ("modified", &found.modified),
        ],
    )
}

fn row(found: &Found) -> [String; 6] {
    [
        found.uuid.to_string(),
        found.branch.name.to_string(),
        found.testbed.name.to_string(),
        found.measure.slug.to_string(),
        benchmark(found),
        words(found.model.as_ref()),
    ]
}

fn benchmark(found: &Found) -> String {
    let name = found.benchmark.as_ref().map(|known| known.name.clone());
    name.unwrap_or_else(|| "all".to_owned())
}

/// The test and the parameters it was given.
fn words(model: Option<&Model>) -> String {
    let Some(model) = model else {
        return "none".to_owned();
    };
    let whole = |value: Option<u32>| value.map(|value| value.to_string());
    let share = |value: Option<f64>| value.map(|value| value.to_string());
    let ignored = (!model.ignore.is_empty()).then(|| model.ignore.join(","));
    let parameters = [
        ("lower", share(model.lower_boundary)),
        ("upper", share(model.upper_boundary)),
        ("min-sample", whole(model.min_sample_size)),
        ("max-sample", whole(model.max_sample_size)),
        ("window", whole(model.window)),
        ("min-effect", share(model.min_effect)),
        ("fdr", share(model.false_discovery_rate)),
        ("ignore", ignored),
    ];
    let given = parameters.into_iter();
    let given = given.filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    std::iter::once(model.test.clone())
        .chain(given)
        .collect::<Vec<_>>()
        .join(" ")
}
