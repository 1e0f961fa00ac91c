-- A runner that is drained finishes what it has and is given nothing more.
ALTER TABLE runner ADD COLUMN draining BIGINT;
-- What it last told about itself and its host: JSON.
ALTER TABLE runner ADD COLUMN metadata TEXT;
