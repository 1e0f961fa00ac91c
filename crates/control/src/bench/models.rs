//! Models of thresholds: from the wire to the store to the judge.

use kiln_insight::threshold::{Model, Pattern, Rules, Test};
use kiln_model::v0::NewModel;
use kiln_model::{Entropy, Millis, ModelUuid};
use kiln_store::Tx;
use kiln_store::sql::{threshold, threshold_model};

use crate::Denied;

/// Refuses a model whose parameters do not fit its test.
pub fn check_model(new: &NewModel) -> Result<Model, Denied> {
    let invalid = |error: &dyn std::fmt::Display| Denied::Invalid(error.to_string());
    let test: Test = new.test.parse().map_err(|error| invalid(&error))?;
    let ignore: Result<Vec<Pattern>, _> = new.ignore.iter().map(|text| text.parse()).collect();
    let rules = Rules {
        test,
        min_sample_size: new.min_sample_size,
        max_sample_size: new.max_sample_size,
        window: new.window,
        lower_boundary: new.lower_boundary,
        upper_boundary: new.upper_boundary,
        min_effect: new.min_effect,
        false_discovery_rate: new.false_discovery_rate,
        ignore: ignore.map_err(|error| invalid(&error))?,
    };
    Model::new(rules).map_err(|error| invalid(&error))
}

/// The model of a row, as it was given.
pub fn given(row: &threshold_model::Model) -> NewModel {
    NewModel {
        test: row.test.clone(),
        min_sample_size: row.min_sample_size,
        max_sample_size: row.max_sample_size,
        window: row.window,
        lower_boundary: row.lower_boundary,
        upper_boundary: row.upper_boundary,
        min_effect: row.min_effect,
        false_discovery_rate: row.false_discovery_rate,
        ignore: serde_json::from_str(&row.ignored).unwrap_or_default(),
    }
}

/// Gives a threshold a model, or none. One that says the same as the present one is left alone.
pub(super) fn set(
    tx: &mut dyn Tx,
    threshold: i64,
    model: Option<&NewModel>,
    ids: &dyn Entropy,
) -> Result<(), Denied> {
    let found = threshold::find(tx, threshold)?.ok_or(Denied::NotFound("threshold"))?;
    let present = match found.model {
        Some(id) => threshold_model::find(tx, id)?,
        None => None,
    };
    if present.as_ref().map(given).as_ref() == model {
        return Ok(());
    }
    if let Some(present) = present {
        threshold_model::replace(tx, present.id)?;
    }
    let id = match model {
        Some(model) => {
            check_model(model)?;
            let row = row(threshold, model, ModelUuid::mint(tx.wall(), ids));
            Some(threshold_model::insert(tx, &row)?)
        }
        None => None,
    };
    Ok(threshold::set_model(tx, threshold, id)?)
}

fn row(threshold: i64, model: &NewModel, uuid: ModelUuid) -> threshold_model::Model {
    threshold_model::Model {
        id: 0,
        uuid,
        threshold,
        test: model.test.clone(),
        min_sample_size: model.min_sample_size,
        max_sample_size: model.max_sample_size,
        window: model.window,
        lower_boundary: model.lower_boundary,
        upper_boundary: model.upper_boundary,
        min_effect: model.min_effect,
        false_discovery_rate: model.false_discovery_rate,
        ignored: serde_json::to_string(&model.ignore).expect("a list of texts"),
        created: Millis::ZERO,
        replaced: None,
    }
}
