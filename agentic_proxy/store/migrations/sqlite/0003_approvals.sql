-- Calls that a user approved, by the digest of what was asked: each is run by the one request that was first. outcome:
-- what came of it, NULL as long as nobody knows, empty when it was not to be kept.
CREATE TABLE approvals (
    digest BLOB PRIMARY KEY,
    at INTEGER NOT NULL,
    outcome BLOB
);
CREATE INDEX approvals_at ON approvals (at);
