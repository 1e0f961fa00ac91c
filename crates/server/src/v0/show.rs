//! Rows of a project's numbers as clients see them.

use std::collections::BTreeMap;

use kiln_control::{Denied, bench};
use kiln_model::ReportUuid;
use kiln_model::v0::{self, DateTime};
use kiln_store::Query;
use kiln_store::sql::alert::Alert;
use kiln_store::sql::benchmark::Benchmark;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::metric::{Judged, Metric};
use kiln_store::sql::project::Project;
use kiln_store::sql::spec::Spec;
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::threshold::Threshold;
use kiln_store::sql::threshold_model;
use kiln_store::sql::threshold_model::Model;
use kiln_store::sql::{
    benchmark, branch, dimension, head, metric, report, spec, testbed, threshold,
};

use crate::view;

/// Shows rows of one project; what many rows share is looked up once.
pub(super) struct Show<'a, Q: Query + ?Sized> {
    pub(super) query: &'a mut Q,
    project: &'a Project,
    summaries: BTreeMap<(i64, i64), v0::ThresholdSummary>,
    /// By threshold and model.
    judges: BTreeMap<(i64, Option<i64>), v0::Threshold>,
    reports: BTreeMap<i64, ReportUuid>,
    benchmarks: BTreeMap<i64, v0::Benchmark>,
    measures: BTreeMap<i64, v0::Measure>,
}

impl<'a, Q: Query + ?Sized> Show<'a, Q> {
    pub(super) fn new(query: &'a mut Q, project: &'a Project) -> Self {
        Self {
            query,
            project,
            summaries: BTreeMap::new(),
            judges: BTreeMap::new(),
            reports: BTreeMap::new(),
            benchmarks: BTreeMap::new(),
            measures: BTreeMap::new(),
        }
    }

    /// A branch with its present head and the newest version of it.
    pub(super) fn branch(&mut self, row: &Branch) -> Result<v0::Branch, Denied> {
        let version = head::newest_version(self.query, row.head_id)?;
        self.branch_at(row, row.head_id, version.map(version_of))
    }

    /// A branch with one of its heads.
    pub(super) fn branch_at(
        &mut self,
        row: &Branch,
        head: i64,
        version: Option<v0::Version>,
    ) -> Result<v0::Branch, Denied> {
        Ok(v0::Branch {
            uuid: row.uuid,
            project: self.project.uuid,
            name: row.name.clone(),
            slug: row.slug.clone(),
            head: self.head(head, version)?,
            created: DateTime(row.created),
            modified: DateTime(row.modified),
            archived: row.archived.map(DateTime),
        })
    }

    fn head(&mut self, id: i64, version: Option<v0::Version>) -> Result<v0::Head, Denied> {
        let row = head::find(self.query, id)?.ok_or(Denied::NotFound("head"))?;
        let start_point = match row.start {
            Some(start) => {
                let from = head::find(self.query, start.head)?.ok_or(Denied::NotFound("head"))?;
                let branch =
                    branch::find(self.query, from.branch)?.ok_or(Denied::NotFound("branch"))?;
                let version =
                    head::version(self.query, start.version)?.ok_or(Denied::NotFound("version"))?;
                Some(v0::HeadStart {
                    branch: branch.uuid,
                    head: from.uuid,
                    version: version_of(version),
                })
            }
            None => None,
        };
        Ok(v0::Head {
            uuid: row.uuid,
            start_point,
            version,
            created: DateTime(row.created),
            replaced: row.replaced.map(DateTime),
        })
    }

    pub(super) fn testbed(&mut self, row: &Testbed) -> Result<v0::Testbed, Denied> {
        let spec = match row.spec {
            Some(id) => spec::find(self.query, id)?,
            None => None,
        };
        Ok(self.testbed_on(row, spec.as_ref()))
    }

    /// A testbed with the spec of one of its reports.
    pub(super) fn testbed_on(&self, row: &Testbed, spec: Option<&Spec>) -> v0::Testbed {
        v0::Testbed {
            uuid: row.uuid,
            project: self.project.uuid,
            name: row.name.clone(),
            slug: row.slug.clone(),
            spec: spec.map(view::spec),
            created: DateTime(row.created),
            modified: DateTime(row.modified),
            archived: row.archived.map(DateTime),
        }
    }

    pub(super) fn benchmark(&self, row: &Benchmark) -> v0::Benchmark {
        v0::Benchmark {
            uuid: row.uuid,
            project: self.project.uuid,
            name: row.name.clone(),
            slug: row.slug.clone(),
            created: DateTime(row.created),
            modified: DateTime(row.modified),
            archived: row.archived.map(DateTime),
        }
    }

    pub(super) fn measure(&self, row: &Measure) -> v0::Measure {
        v0::Measure {
            uuid: row.uuid,
            project: self.project.uuid,
            name: row.name.clone(),
            slug: row.slug.clone(),
            units: row.units.clone(),
            direction: row.direction.clone(),
            created: DateTime(row.created),
            modified: DateTime(row.modified),
            archived: row.archived.map(DateTime),
        }
    }

    /// Learns of all benchmarks of a report at once.
    pub(super) fn benchmarks_of_report(&mut self, report: i64) -> Result<(), Denied> {
        for row in benchmark::of_report(self.query, report)? {
            let shown = self.benchmark(&row);
            self.benchmarks.insert(row.id, shown);
        }
        Ok(())
    }

    pub(super) fn benchmark_of(&mut self, id: i64) -> Result<v0::Benchmark, Denied> {
        if let Some(shown) = self.benchmarks.get(&id) {
            return Ok(shown.clone());
        }
        let row = dimension::find(self.query, id)?.ok_or(Denied::NotFound("benchmark"))?;
        let shown = self.benchmark(&row);
        self.benchmarks.insert(id, shown.clone());
        Ok(shown)
    }

    pub(super) fn measure_of(&mut self, id: i64) -> Result<v0::Measure, Denied> {
        if let Some(shown) = self.measures.get(&id) {
            return Ok(shown.clone());
        }
        let row = dimension::find(self.query, id)?.ok_or(Denied::NotFound("measure"))?;
        let shown = self.measure(&row);
        self.measures.insert(id, shown.clone());
        Ok(shown)
    }

    pub(super) fn threshold(&mut self, row: &Threshold) -> Result<v0::Threshold, Denied> {
        let model = match row.model {
            Some(id) => threshold_model::find(self.query, id)?,
            None => None,
        };
        self.threshold_with(row, model.as_ref())
    }

    /// A threshold with one of the models it has had.
    pub(super) fn threshold_with(
        &mut self,
        row: &Threshold,
        model: Option<&Model>,
    ) -> Result<v0::Threshold, Denied> {
        let branch = branch::find(self.query, row.branch)?.ok_or(Denied::NotFound("branch"))?;
        let testbed = testbed::find(self.query, row.testbed)?.ok_or(Denied::NotFound("testbed"))?;
        Ok(v0::Threshold {
            uuid: row.uuid,
            project: self.project.uuid,
            branch: self.branch(&branch)?,
            testbed: self.testbed(&testbed)?,
            measure: self.measure_of(row.measure)?,
            benchmark: match row.benchmark {
                Some(id) => Some(self.benchmark_of(id)?),
                None => None,
            },
            model: model.map(|model| show_model(row, model)),
            created: DateTime(row.created),
            modified: DateTime(row.modified),
        })
    }

    /// The threshold that judged a metric, with the model it had then.
    pub(super) fn judged_by(&mut self, judged: Judged) -> Result<v0::ThresholdSummary, Denied> {
        let key = (judged.threshold, judged.model);
        if let Some(shown) = self.summaries.get(&key) {
            return Ok(shown.clone());
        }
        let row =
            threshold::find(self.query, judged.threshold)?.ok_or(Denied::NotFound("threshold"))?;
        let model = threshold_model::find(self.query, judged.model)?;
        let shown = v0::ThresholdSummary {
            uuid: row.uuid,
            project: self.project.uuid,
            model: model.map(|model| show_model(&row, &model)),
            created: DateTime(row.created),
        };
        self.summaries.insert(key, shown.clone());
        Ok(shown)
    }

    pub(super) fn alert(&mut self, row: &Alert) -> Result<v0::Alert, Denied> {
        let placed = metric::find(self.query, row.series, row.report, row.iteration)?
            .ok_or(Denied::NotFound("metric"))?;
        let threshold = row.threshold.ok_or(Denied::NotFound("threshold"))?;
        let model = placed.metric.judged.map(|judged| judged.model);
        Ok(v0::Alert {
            uuid: row.uuid,
            report: self.report_uuid(row.report)?,
            iteration: iteration(row.iteration),
            benchmark: self.benchmark_of(placed.benchmark)?,
            metric: stored(&placed.metric),
            threshold: self.judge(threshold, model)?,
            boundary: placed.metric.judged.map_or(NO_BOUNDARY, boundary),
            limit: row.crossed.clone(),
            status: row.status.clone(),
            created: DateTime(row.created),
            modified: DateTime(row.modified),
        })
    }

    /// A threshold with the model that it judged by.
    fn judge(&mut self, threshold: i64, model: Option<i64>) -> Result<v0::Threshold, Denied> {
        let key = (threshold, model);
        if let Some(shown) = self.judges.get(&key) {
            return Ok(shown.clone());
        }
        let row = threshold::find(self.query, threshold)?.ok_or(Denied::NotFound("threshold"))?;
        let model = match model {
            Some(id) => threshold_model::find(self.query, id)?,
            None => None,
        };
        let shown = self.threshold_with(&row, model.as_ref())?;
        self.judges.insert(key, shown.clone());
        Ok(shown)
    }

    fn report_uuid(&mut self, id: i64) -> Result<ReportUuid, Denied> {
        if let Some(uuid) = self.reports.get(&id) {
            return Ok(*uuid);
        }
        let row = report::find(self.query, id)?.ok_or(Denied::NotFound("report"))?;
        self.reports.insert(id, row.uuid);
        Ok(row.uuid)
    }
}

const NO_BOUNDARY: v0::Boundary = v0::Boundary {
    baseline: None,
    lower_limit: None,
    upper_limit: None,
};

pub(super) fn boundary(judged: Judged) -> v0::Boundary {
    v0::Boundary {
        baseline: judged.baseline,
        lower_limit: judged.lower_limit,
        upper_limit: judged.upper_limit,
    }
}

pub(super) fn stored(metric: &Metric) -> v0::StoredMetric {
    v0::StoredMetric {
        uuid: metric.uuid,
        value: metric.value,
        lower_value: metric.lower_value,
        upper_value: metric.upper_value,
    }
}

pub(super) fn alert_summary(row: &Alert) -> v0::AlertSummary {
    v0::AlertSummary {
        uuid: row.uuid,
        limit: row.crossed.clone(),
        status: row.status.clone(),
        modified: DateTime(row.modified),
    }
}

pub(super) fn iteration(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn version_of(version: head::Version) -> v0::Version {
    v0::Version {
        number: version.number,
        hash: version.git_hash,
    }
}

fn show_model(threshold: &Threshold, row: &Model) -> v0::Model {
    let given = bench::given(row);
    v0::Model {
        uuid: row.uuid,
        threshold: threshold.uuid,
        test: given.test,
        min_sample_size: given.min_sample_size,
        max_sample_size: given.max_sample_size,
        window: given.window,
        lower_boundary: given.lower_boundary,
        upper_boundary: given.upper_boundary,
        min_effect: given.min_effect,
        false_discovery_rate: given.false_discovery_rate,
        ignore: given.ignore,
        created: DateTime(row.created),
        replaced: row.replaced.map(DateTime),
    }
}
