-- The newest channel of each slot of a runner. An older one, on whichever server, does not speak for it any more.
CREATE TABLE runner_channel (
    runner_id BIGINT NOT NULL REFERENCES runner (id) ON DELETE CASCADE,
    slot BIGINT NOT NULL,
    slots BIGINT NOT NULL,
    -- Grows with every channel of the runner.
    number BIGINT NOT NULL,
    PRIMARY KEY (runner_id, slot)
);
