-- What the registry needs to know to let things go in time, and to keep projects within their quota.

-- How many bytes of blobs a project holds, and how many it may.
CREATE TABLE registry_usage (
    project_id BIGINT PRIMARY KEY REFERENCES project (id) ON DELETE CASCADE,
    bytes BIGINT NOT NULL,
    -- None: as many as fit on the disk.
    quota BIGINT
);

INSERT INTO registry_usage (project_id, bytes)
SELECT holding.project_id, SUM(blob.size)
FROM registry_holding holding
JOIN registry_blob blob ON blob.id = holding.blob_id
GROUP BY holding.project_id;

-- When somebody last pushed, mounted or looked for the blob: what no manifest names is collected long after that.
ALTER TABLE registry_holding ADD COLUMN touched_tick BIGINT NOT NULL DEFAULT 0;

-- When it was last pushed.
ALTER TABLE registry_manifest ADD COLUMN pushed_tick BIGINT NOT NULL DEFAULT 0;
