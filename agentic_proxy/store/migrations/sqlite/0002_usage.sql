-- These rows are written with every request and looked up by a person now and then: no index on random ids, which would
-- cost more than the rows.
--
-- One row for each client request. response: its public id, empty when it never had one. provider, upstream_model: who
-- was asked last, empty when nobody was. route: the candidates in order as JSON.
CREATE TABLE requests (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    id TEXT NOT NULL,
    response TEXT NOT NULL,
    format TEXT NOT NULL,
    transport TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    upstream_model TEXT NOT NULL,
    status INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT,
    seconds REAL NOT NULL,
    route TEXT NOT NULL
);
CREATE INDEX requests_at ON requests (at);

-- One row for each upstream attempt. request: the id of its request. notes, repairs, lessons: ids with blanks between.
CREATE TABLE attempts (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    request TEXT NOT NULL,
    response TEXT NOT NULL,
    number INTEGER NOT NULL,
    retry INTEGER NOT NULL,
    format TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    provider_type TEXT NOT NULL,
    upstream_model TEXT NOT NULL,
    credential TEXT NOT NULL,
    seconds REAL NOT NULL,
    first_event REAL,
    code TEXT,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    notes TEXT NOT NULL,
    repairs TEXT NOT NULL,
    lessons TEXT NOT NULL
);
CREATE INDEX attempts_at ON attempts (at);
