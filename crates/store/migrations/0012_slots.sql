-- Which slot of its runner a job is held in; null is the whole runner.
ALTER TABLE job ADD COLUMN slot BIGINT;
-- Whether a job may share its runner with others: its spec said so when it was submitted.
ALTER TABLE job ADD COLUMN shared SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE spec ADD COLUMN shared SMALLINT NOT NULL DEFAULT 0;
