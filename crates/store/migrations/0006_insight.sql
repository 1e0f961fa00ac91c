-- Reports become numbers that can be asked for: heads and versions of branches, benchmarks, measures, metrics, thresholds,
-- alerts and plots.

ALTER TABLE branch ADD COLUMN head_id BIGINT;
ALTER TABLE branch ADD COLUMN archived BIGINT;
ALTER TABLE testbed ADD COLUMN archived BIGINT;
ALTER TABLE report ADD COLUMN head_id BIGINT;
ALTER TABLE report ADD COLUMN version_id BIGINT;
-- How two images compare, where they took turns: JSON.
ALTER TABLE report ADD COLUMN paired TEXT;

-- What a branch pointed at for a while. Resetting a branch gives it a new head; the old one is kept with its reports.
CREATE TABLE head (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    branch_id BIGINT NOT NULL REFERENCES branch (id) ON DELETE CASCADE,
    -- The version of another head that this one began with.
    start_head_id BIGINT REFERENCES head (id) ON DELETE SET NULL,
    start_version_id BIGINT,
    created BIGINT NOT NULL,
    replaced BIGINT
);

CREATE INDEX index_head_branch ON head (branch_id);

CREATE TABLE version (
    id IDENTITY_PRIMARY_KEY,
    -- The head it was made for; others that start from it share it.
    head_id BIGINT NOT NULL REFERENCES head (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    git_hash TEXT,
    UNIQUE (head_id, number)
);

-- The versions that belong to a head: its own, and those of its start point.
CREATE TABLE head_version (
    head_id BIGINT NOT NULL REFERENCES head (id) ON DELETE CASCADE,
    version_id BIGINT NOT NULL REFERENCES version (id) ON DELETE CASCADE,
    PRIMARY KEY (head_id, version_id)
);

CREATE INDEX index_head_version_version ON head_version (version_id);

INSERT INTO head (uuid, branch_id, created) SELECT head_uuid, id, created FROM branch;
UPDATE branch SET head_id = (SELECT head.id FROM head WHERE head.branch_id = branch.id);
INSERT INTO version (head_id, number, git_hash)
    SELECT branch.head_id, report.version, MAX(report.git_hash) FROM report JOIN branch ON branch.id = report.branch_id
    GROUP BY branch.head_id, report.version;
INSERT INTO head_version (head_id, version_id) SELECT head_id, id FROM version;
UPDATE report SET head_id = (SELECT branch.head_id FROM branch WHERE branch.id = report.branch_id);
UPDATE report SET version_id =
    (SELECT version.id FROM version WHERE version.head_id = report.head_id AND version.number = report.version);

CREATE INDEX index_report_project ON report (project_id, start_time, id);
CREATE INDEX index_report_version ON report (version_id, testbed_id);
CREATE INDEX index_report_head ON report (head_id);
CREATE INDEX index_branch_slug ON branch (project_id, slug);
CREATE INDEX index_testbed_slug ON testbed (project_id, slug);

CREATE TABLE benchmark (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    archived BIGINT,
    UNIQUE (project_id, name)
);

CREATE INDEX index_benchmark_slug ON benchmark (project_id, slug);

CREATE TABLE measure (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    units TEXT NOT NULL,
    -- smaller_is_better, larger_is_better, or unknown
    direction TEXT,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    archived BIGINT,
    UNIQUE (project_id, name)
);

CREATE INDEX index_measure_slug ON measure (project_id, slug);

-- What was measured where: the lines of a plot, whatever the branch.
CREATE TABLE series (
    id IDENTITY_PRIMARY_KEY,
    testbed_id BIGINT NOT NULL REFERENCES testbed (id) ON DELETE CASCADE,
    measure_id BIGINT NOT NULL REFERENCES measure (id) ON DELETE CASCADE,
    benchmark_id BIGINT NOT NULL REFERENCES benchmark (id) ON DELETE CASCADE,
    UNIQUE (testbed_id, measure_id, benchmark_id)
);

CREATE INDEX index_series_measure ON series (measure_id);
CREATE INDEX index_series_benchmark ON series (benchmark_id);

-- One threshold for each branch, testbed and measure, and for single benchmarks of them.
CREATE TABLE threshold (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    branch_id BIGINT NOT NULL REFERENCES branch (id) ON DELETE CASCADE,
    testbed_id BIGINT NOT NULL REFERENCES testbed (id) ON DELETE CASCADE,
    measure_id BIGINT NOT NULL REFERENCES measure (id) ON DELETE CASCADE,
    benchmark_id BIGINT REFERENCES benchmark (id) ON DELETE CASCADE,
    -- The model it judges by now; replaced ones are kept.
    model_id BIGINT,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL
);

CREATE UNIQUE INDEX index_threshold_for_all ON threshold (branch_id, testbed_id, measure_id) WHERE benchmark_id IS NULL;
CREATE UNIQUE INDEX index_threshold_for_one ON threshold (branch_id, testbed_id, measure_id, benchmark_id)
    WHERE benchmark_id IS NOT NULL;
CREATE INDEX index_threshold_project ON threshold (project_id, created, id);

CREATE TABLE threshold_model (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    threshold_id BIGINT NOT NULL REFERENCES threshold (id) ON DELETE CASCADE,
    test TEXT NOT NULL,
    min_sample_size BIGINT,
    max_sample_size BIGINT,
    window_seconds BIGINT,
    lower_boundary DOUBLE PRECISION,
    upper_boundary DOUBLE PRECISION,
    min_effect DOUBLE PRECISION,
    false_discovery_rate DOUBLE PRECISION,
    -- Patterns of benchmarks that get no alert (JSON).
    ignored TEXT NOT NULL,
    created BIGINT NOT NULL,
    replaced BIGINT
);

CREATE INDEX index_threshold_model ON threshold_model (threshold_id);

-- One measured number with the boundary it was compared with. Clustered by series, so that a line of a plot is one stretch.
CREATE TABLE metric (
    series_id BIGINT NOT NULL REFERENCES series (id) ON DELETE CASCADE,
    report_id BIGINT NOT NULL REFERENCES report (id) ON DELETE CASCADE,
    iteration BIGINT NOT NULL,
    uuid TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    lower_value DOUBLE PRECISION,
    upper_value DOUBLE PRECISION,
    threshold_id BIGINT REFERENCES threshold (id) ON DELETE SET NULL,
    model_id BIGINT REFERENCES threshold_model (id) ON DELETE SET NULL,
    baseline DOUBLE PRECISION,
    lower_limit DOUBLE PRECISION,
    upper_limit DOUBLE PRECISION,
    PRIMARY KEY (series_id, report_id, iteration)
) WITHOUT_ROWID;

CREATE INDEX index_metric_report ON metric (report_id);
CREATE UNIQUE INDEX index_metric_uuid ON metric (uuid);
CREATE INDEX index_metric_threshold ON metric (threshold_id) WHERE threshold_id IS NOT NULL;
CREATE INDEX index_metric_model ON metric (model_id) WHERE model_id IS NOT NULL;

CREATE TABLE alert (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    report_id BIGINT NOT NULL REFERENCES report (id) ON DELETE CASCADE,
    series_id BIGINT NOT NULL REFERENCES series (id) ON DELETE CASCADE,
    iteration BIGINT NOT NULL,
    threshold_id BIGINT REFERENCES threshold (id) ON DELETE CASCADE,
    -- lower or upper
    crossed TEXT NOT NULL,
    -- active, dismissed or silenced
    status TEXT NOT NULL,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    UNIQUE (report_id, series_id, iteration)
);

CREATE INDEX index_alert_project ON alert (project_id, status, modified);
CREATE INDEX index_alert_series ON alert (series_id);
CREATE INDEX index_alert_threshold ON alert (threshold_id);

CREATE TABLE plot (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    title TEXT,
    -- Sparse, so that a plot can be put between two others.
    place BIGINT NOT NULL,
    lower_value SMALLINT NOT NULL,
    upper_value SMALLINT NOT NULL,
    lower_boundary SMALLINT NOT NULL,
    upper_boundary SMALLINT NOT NULL,
    x_axis TEXT NOT NULL,
    y_axis TEXT NOT NULL,
    window_seconds BIGINT NOT NULL,
    -- UUIDs in order (JSON).
    branches TEXT NOT NULL,
    testbeds TEXT NOT NULL,
    benchmarks TEXT NOT NULL,
    measures TEXT NOT NULL,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL
);

CREATE INDEX index_plot_project ON plot (project_id, place);

-- Its rows have no ids that clients could ask by. No release ever wrote one.
DROP TABLE report_metric;
