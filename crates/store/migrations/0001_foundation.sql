-- One row that says what this database is.
CREATE TABLE meta (
    id SMALLINT PRIMARY KEY CHECK (id = 1),
    application TEXT NOT NULL,
    schema_version BIGINT NOT NULL,
    -- Random, made once: tells two stores apart.
    store_id BLOB NOT NULL,
    -- Kernel time never starts below this mark.
    kernel_time BIGINT NOT NULL
);

-- The kernel's numbered databases: ordered bytes.
CREATE TABLE kernel (
    dbi SMALLINT NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (dbi, key)
) WITHOUT_ROWID;

-- One row for each recent batch, so that a commit whose answer was lost can be looked up.
CREATE TABLE ledger_commit (
    batch BLOB PRIMARY KEY,
    committed_at BIGINT NOT NULL
);

CREATE INDEX ledger_commit_age ON ledger_commit (committed_at);
