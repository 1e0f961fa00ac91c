-- People, organizations and projects as the bench door knows them, and who changed what.

ALTER TABLE account ADD COLUMN locked SMALLINT NOT NULL DEFAULT 0;

-- Null is a key from before keys expired: it never does.
ALTER TABLE account_key ADD COLUMN expires BIGINT;

CREATE INDEX index_account_key_account ON account_key (account_id, created, id);

-- What the organization is entitled to when the server counts: free, pro, team, enterprise.
ALTER TABLE organization ADD COLUMN plan TEXT NOT NULL DEFAULT 'enterprise';
-- A deleted thing keeps its row for what refers to it, and gives its slug back.
ALTER TABLE organization ADD COLUMN deleted BIGINT;

-- An organization without members is unclaimed.
CREATE TABLE organization_member (
    organization_id BIGINT NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    -- member, leader
    role TEXT NOT NULL,
    created BIGINT NOT NULL,
    PRIMARY KEY (organization_id, account_id)
);

CREATE INDEX index_organization_member_account ON organization_member (account_id);

ALTER TABLE project ADD COLUMN url TEXT;
-- public, private
ALTER TABLE project ADD COLUMN visibility TEXT NOT NULL DEFAULT 'public';
ALTER TABLE project ADD COLUMN deleted BIGINT;

CREATE INDEX index_project_organization ON project (organization_id, name, id);

CREATE TABLE project_key (
    id IDENTITY_PRIMARY_KEY,
    uuid TEXT NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    creator_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    revoked BIGINT
);

CREATE INDEX index_project_key_project ON project_key (project_id, created, id);

-- Rows are added and never changed.
CREATE TABLE audit_entry (
    id IDENTITY_PRIMARY_KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT
);

CREATE INDEX index_audit_entry_subject ON audit_entry (subject, id);
