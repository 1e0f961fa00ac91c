-- Images: what a project holds of the blobs all projects share, and its repositories.
-- Columns that end in _tick are kernel time; the other times are the wall clock's, for the record.

-- A path below the project; '' is the project's own name.
CREATE TABLE registry_repository (
    id IDENTITY_PRIMARY_KEY,
    -- No cascade: whoever deletes a project lets go of its blobs first, so that their bytes go too.
    project_id BIGINT NOT NULL REFERENCES project (id),
    path TEXT NOT NULL,
    created BIGINT NOT NULL,
    UNIQUE (project_id, path)
);

-- Bytes that hash to their digest, stored once whoever holds them.
CREATE TABLE registry_blob (
    id IDENTITY_PRIMARY_KEY,
    digest TEXT NOT NULL UNIQUE,
    size BIGINT NOT NULL,
    created BIGINT NOT NULL
);

-- The objects that make up a blob, in order. A key is used once and never again, so that an object can be deleted
-- after the commit that forgot it.
CREATE TABLE registry_blob_piece (
    blob_id BIGINT NOT NULL REFERENCES registry_blob (id) ON DELETE CASCADE,
    start BIGINT NOT NULL,
    size BIGINT NOT NULL,
    object_key TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    PRIMARY KEY (blob_id, start)
);

-- A project's right to a blob. Without one the blob does not exist for it.
CREATE TABLE registry_holding (
    project_id BIGINT NOT NULL REFERENCES project (id),
    blob_id BIGINT NOT NULL REFERENCES registry_blob (id),
    created BIGINT NOT NULL,
    PRIMARY KEY (project_id, blob_id)
);

CREATE INDEX index_registry_holding_blob ON registry_holding (blob_id);

CREATE TABLE registry_upload (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    repository_id BIGINT NOT NULL REFERENCES registry_repository (id),
    size BIGINT NOT NULL,
    -- The SHA-256 of what has arrived so far, as it can be gone on with.
    hash_state BLOB NOT NULL,
    touched_tick BIGINT NOT NULL,
    created BIGINT NOT NULL
);

CREATE INDEX index_registry_upload_touched ON registry_upload (touched_tick);

CREATE TABLE registry_upload_piece (
    upload_id BIGINT NOT NULL REFERENCES registry_upload (id) ON DELETE CASCADE,
    start BIGINT NOT NULL,
    size BIGINT NOT NULL,
    object_key TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    PRIMARY KEY (upload_id, start)
);

CREATE TABLE registry_manifest (
    id IDENTITY_PRIMARY_KEY,
    repository_id BIGINT NOT NULL REFERENCES registry_repository (id),
    digest TEXT NOT NULL,
    media_type TEXT NOT NULL,
    artifact_type TEXT,
    subject TEXT,
    body BLOB NOT NULL,
    created BIGINT NOT NULL,
    UNIQUE (repository_id, digest)
);

CREATE INDEX index_registry_manifest_subject ON registry_manifest (repository_id, subject, digest) WHERE subject IS NOT NULL;
CREATE INDEX index_registry_manifest_digest ON registry_manifest (digest);

-- The blobs a manifest names: its project cannot let go of one while the manifest is there.
CREATE TABLE registry_manifest_blob (
    manifest_id BIGINT NOT NULL REFERENCES registry_manifest (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL,
    blob_id BIGINT NOT NULL,
    PRIMARY KEY (manifest_id, blob_id),
    FOREIGN KEY (project_id, blob_id) REFERENCES registry_holding (project_id, blob_id)
);

CREATE INDEX index_registry_manifest_blob ON registry_manifest_blob (project_id, blob_id);

-- The manifests an index names, which stay as long as it does.
CREATE TABLE registry_manifest_child (
    manifest_id BIGINT NOT NULL REFERENCES registry_manifest (id) ON DELETE CASCADE,
    child_id BIGINT NOT NULL REFERENCES registry_manifest (id),
    PRIMARY KEY (manifest_id, child_id)
);

CREATE INDEX index_registry_manifest_child ON registry_manifest_child (child_id);

CREATE TABLE registry_tag (
    repository_id BIGINT NOT NULL REFERENCES registry_repository (id),
    name TEXT NOT NULL,
    manifest_id BIGINT NOT NULL REFERENCES registry_manifest (id) ON DELETE CASCADE,
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    PRIMARY KEY (repository_id, name)
);

CREATE INDEX index_registry_tag_manifest ON registry_tag (manifest_id);
