-- Output that does not fit into one message: uploaded in pieces, which become one object. No reference to `job`: the objects
-- of a job that is gone are found by this row.
CREATE TABLE job_upload (
    id IDENTITY_PRIMARY_KEY,
    job_id BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    -- Of the whole.
    digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    -- How much of it is there, from the first byte on.
    received BIGINT NOT NULL,
    -- Where its pieces lie, and later the whole.
    pieces_prefix TEXT NOT NULL,
    object_key TEXT NOT NULL,
    -- See `sql/job_upload.rs`.
    state SMALLINT NOT NULL,
    touched_tick BIGINT NOT NULL,
    created BIGINT NOT NULL,
    UNIQUE (job_id, epoch, digest)
);
CREATE INDEX job_upload_idle ON job_upload (touched_tick) WHERE state <> 2;

CREATE TABLE job_upload_piece (
    upload_id BIGINT NOT NULL REFERENCES job_upload (id) ON DELETE CASCADE,
    start BIGINT NOT NULL,
    size BIGINT NOT NULL,
    object_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (upload_id, start)
);

-- What a running job has written lately; gone when its output is here.
CREATE TABLE job_live (
    job_id BIGINT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    epoch BIGINT NOT NULL,
    number BIGINT NOT NULL,
    iteration BIGINT NOT NULL,
    -- See `sql/job_live.rs`.
    stream SMALLINT NOT NULL,
    start BIGINT NOT NULL,
    -- Text, which may hold characters that TEXT may not.
    body BLOB NOT NULL,
    PRIMARY KEY (job_id, epoch, number)
);
