-- Indexes of jobs that no query needs, and that every claim, start and end had to keep up. A runner's jobs are asked for while they
-- are in flight only; by the index over all of its past, SQLite walked that past.
DROP INDEX index_job_org_in_flight;
DROP INDEX index_job_source_ip_in_flight;
DROP INDEX index_job_in_flight;
DROP INDEX index_job_runner_id;

-- Actions alone are asked for like this.
DROP INDEX index_job_live_actions;
CREATE INDEX index_job_live_actions ON job (id) WHERE kind = 1 AND status IN (0, 1, 2);

-- Outputs that may leave for their object key: 1 until they have. Results wait here until they were put to use.
ALTER TABLE job_output ADD COLUMN resting SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX index_job_output_resting ON job_output (job_id) WHERE resting = 1;
