-- The version that a commit has is looked for with every report of it.
CREATE INDEX index_version_git_hash ON version (git_hash) WHERE git_hash IS NOT NULL;
