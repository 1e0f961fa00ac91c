//! What is in the archive with something else: reports of a branch that is archived, thresholds of a measure that is.

/// What a row refers to: a table, and the column that names a row of it.
pub(super) type Reference = (&'static str, &'static str);

pub(super) const BRANCH: Reference = ("branch", "branch_id");
pub(super) const TESTBED: Reference = ("testbed", "testbed_id");
pub(super) const MEASURE: Reference = ("measure", "measure_id");

/// Whether a row of project `?1` refers to anything that is archived.
pub(super) fn is_archived(references: &[Reference]) -> String {
    let archived = |(table, column): &Reference| {
        format!(
            "{column} IN (SELECT id FROM {table} WHERE project_id = ?1 AND archived IS NOT NULL)"
        )
    };
    let any: Vec<String> = references.iter().map(archived).collect();
    format!("({})", any.join(" OR "))
}
