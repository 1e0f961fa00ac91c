CREATE TABLE bench_job (
    id INTEGER PRIMARY KEY,
    lane BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    status SMALLINT NOT NULL,
    epoch BIGINT NOT NULL,
    work TEXT NOT NULL,
    runner BIGINT,
    created BIGINT NOT NULL,
    claimed BIGINT,
    started BIGINT,
    ended BIGINT
);
CREATE INDEX bench_job_pending ON bench_job (lane, priority DESC, created, id) WHERE status = 0;
