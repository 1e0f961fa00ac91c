-- Runner minutes: what jobs have begun, who owes it, and whether the one who bills was told.

-- How many minutes of a job have a row below.
ALTER TABLE job ADD COLUMN billed BIGINT NOT NULL DEFAULT 0;

-- What the payment provider calls an organization.
ALTER TABLE organization ADD COLUMN billing_customer TEXT;

CREATE TABLE billing_minute (
    id IDENTITY_PRIMARY_KEY,
    -- No reference, and the public id again: a debt outlives its job's row.
    job_id BIGINT NOT NULL,
    job TEXT NOT NULL,
    -- The first is 1.
    minute BIGINT NOT NULL,
    organization_id BIGINT NOT NULL,
    -- When it began, by the wall clock.
    begun BIGINT NOT NULL,
    -- Whether anybody is to be told. Plans that are not metered are only counted.
    metered SMALLINT NOT NULL,
    -- When the one who bills took it.
    settled BIGINT,
    -- Why the one who bills will never take it as it is.
    refused TEXT,
    UNIQUE (job_id, minute)
);

CREATE INDEX index_billing_minute_owed ON billing_minute (id) WHERE metered = 1 AND settled IS NULL AND refused IS NULL;
CREATE INDEX index_billing_minute_usage ON billing_minute (organization_id, begun);
