-- Jobs of all three doors, and what they hang on.
-- Columns that end in _tick are kernel time; the other times are the wall clock's, for the record.

-- A lane is a class of work that runners offer to take: a spec, a pool, a function host.
CREATE TABLE lane (
    id IDENTITY_PRIMARY_KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE organization (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL
);

CREATE TABLE account (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    admin SMALLINT NOT NULL,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL
);

CREATE TABLE account_key (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created BIGINT NOT NULL,
    revoked BIGINT
);

CREATE TABLE project (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    organization_id BIGINT NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL
);

CREATE TABLE spec (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    lane_id BIGINT NOT NULL UNIQUE REFERENCES lane (id),
    name TEXT NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    os TEXT NOT NULL,
    architecture TEXT NOT NULL,
    sandbox TEXT,
    cpu BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    disk BIGINT NOT NULL,
    network SMALLINT NOT NULL,
    fallback BIGINT,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    archived BIGINT
);

CREATE TABLE runner (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    key_hash TEXT NOT NULL UNIQUE,
    -- Grows with every rotation, so that an open channel notices.
    key_version BIGINT NOT NULL,
    last_heartbeat BIGINT,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    archived BIGINT
);

CREATE TABLE runner_lane (
    runner_id BIGINT NOT NULL REFERENCES runner (id) ON DELETE CASCADE,
    lane_id BIGINT NOT NULL REFERENCES lane (id),
    PRIMARY KEY (runner_id, lane_id)
);

CREATE TABLE queue (
    id IDENTITY_PRIMARY_KEY,
    tag TEXT NOT NULL,
    state SMALLINT NOT NULL,
    max_retries BIGINT NOT NULL,
    idle_since_tick BIGINT NOT NULL,
    active BIGINT NOT NULL,
    completed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    abandoned BIGINT NOT NULL,
    canceled BIGINT NOT NULL,
    created BIGINT NOT NULL
);

CREATE TABLE setting (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE branch (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    head_uuid TEXT NOT NULL,
    -- The newest version of the head: its number, and its commit when it has one.
    version BIGINT NOT NULL,
    git_hash TEXT,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    UNIQUE (project_id, name)
);

CREATE TABLE testbed (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    spec_id BIGINT REFERENCES spec (id),
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    UNIQUE (project_id, name)
);

CREATE TABLE report (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    account_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    idempotency_key TEXT,
    branch_id BIGINT NOT NULL REFERENCES branch (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    git_hash TEXT,
    testbed_id BIGINT NOT NULL REFERENCES testbed (id) ON DELETE CASCADE,
    adapter TEXT NOT NULL,
    -- How the output is to be read, as it was submitted (JSON).
    settings TEXT NOT NULL,
    -- pending, running, ready, invalid, failed, canceled
    status TEXT NOT NULL,
    error TEXT,
    start_time BIGINT NOT NULL,
    end_time BIGINT NOT NULL,
    created BIGINT NOT NULL,
    UNIQUE (project_id, idempotency_key)
);

CREATE TABLE report_metric (
    report_id BIGINT NOT NULL REFERENCES report (id) ON DELETE CASCADE,
    iteration BIGINT NOT NULL,
    benchmark TEXT NOT NULL,
    measure TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    lower_value DOUBLE PRECISION,
    upper_value DOUBLE PRECISION,
    PRIMARY KEY (report_id, iteration, benchmark, measure)
);

CREATE TABLE job (
    id IDENTITY_PRIMARY_KEY,
    -- A UUID or an rtj_ id; null for actions, whose id is their LSN.
    public_id TEXT UNIQUE,
    kind SMALLINT NOT NULL,
    status SMALLINT NOT NULL,
    epoch BIGINT NOT NULL,
    lane_id BIGINT NOT NULL REFERENCES lane (id),
    organization_id BIGINT REFERENCES organization (id) ON DELETE CASCADE,
    project_id BIGINT REFERENCES project (id) ON DELETE CASCADE,
    report_id BIGINT REFERENCES report (id) ON DELETE CASCADE,
    spec_id BIGINT REFERENCES spec (id),
    queue_id BIGINT REFERENCES queue (id),
    source_address TEXT,
    -- At most one job with the same limit key is in flight; null is no limit.
    limit_key TEXT,
    -- Whether a claim may take it now: per limit key and lane only the first in order is admitted, and none
    -- while one is in flight. So a claim never walks over jobs that it may not take.
    admitted SMALLINT NOT NULL,
    priority BIGINT NOT NULL,
    work TEXT NOT NULL,
    run_ms BIGINT NOT NULL,
    grace_ms BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    set_up_ms BIGINT NOT NULL,
    pending_ms BIGINT,
    retry SMALLINT NOT NULL,
    retry_max BIGINT NOT NULL,
    retry_count BIGINT NOT NULL,
    retry_of BIGINT REFERENCES job (id),
    -- The first job of a chain of automatic retries; one of the chain is published.
    root_id BIGINT,
    published SMALLINT NOT NULL,
    runner_id BIGINT REFERENCES runner (id),
    lease_id TEXT UNIQUE,
    cause SMALLINT,
    message TEXT,
    events BIGINT NOT NULL,
    timer_due BIGINT,
    timer_seq BIGINT,
    pending_tick BIGINT NOT NULL,
    claimed_tick BIGINT,
    started_tick BIGINT,
    lease_tick BIGINT,
    created BIGINT NOT NULL,
    claimed BIGINT,
    started BIGINT,
    ended BIGINT,
    modified BIGINT NOT NULL
);

CREATE INDEX index_job_pending ON job (lane_id, priority DESC, created, id) WHERE status = 0 AND admitted = 1;
CREATE INDEX index_job_limited ON job (limit_key, lane_id, priority DESC, created, id) WHERE status = 0 AND limit_key IS NOT NULL;
CREATE INDEX index_job_limited_admitted ON job (limit_key) WHERE status = 0 AND admitted = 1 AND limit_key IS NOT NULL;
CREATE UNIQUE INDEX index_job_limit_in_flight ON job (limit_key) WHERE status IN (1, 2) AND limit_key IS NOT NULL;
CREATE INDEX index_job_org_in_flight ON job (organization_id) WHERE status IN (1, 2);
CREATE INDEX index_job_source_ip_in_flight ON job (source_address) WHERE status IN (1, 2);
CREATE INDEX index_job_in_flight ON job (status) WHERE status IN (1, 2);
CREATE INDEX index_job_runner_in_flight ON job (runner_id) WHERE status IN (1, 2);
CREATE INDEX index_job_runner_id ON job (runner_id) WHERE runner_id IS NOT NULL;
CREATE INDEX index_job_spec_id ON job (spec_id);
CREATE INDEX index_job_report_id ON job (report_id);
CREATE INDEX index_job_project ON job (project_id, created, id);
CREATE INDEX index_job_queue ON job (queue_id, status) WHERE queue_id IS NOT NULL;
CREATE INDEX index_job_live_actions ON job (kind, id) WHERE status IN (0, 1, 2);
CREATE UNIQUE INDEX index_job_published ON job (root_id) WHERE published = 1;

CREATE TABLE job_event (
    job_id BIGINT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    what TEXT NOT NULL,
    from_status SMALLINT,
    to_status SMALLINT,
    epoch BIGINT NOT NULL,
    actor TEXT NOT NULL,
    detail TEXT,
    at BIGINT NOT NULL,
    PRIMARY KEY (job_id, number)
);

CREATE TABLE job_output (
    job_id BIGINT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    epoch BIGINT NOT NULL,
    digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    -- The bytes, until they are at their object key.
    body BLOB,
    object_key TEXT,
    PRIMARY KEY (job_id, epoch)
);

-- Written once a second for all jobs together; never part of a transition.
CREATE TABLE heartbeat (
    job_id BIGINT NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    tick BIGINT NOT NULL
);
