-- The tables of ../sqlite/0002_usage.sql, where they are explained.
CREATE TABLE requests (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    id TEXT NOT NULL,
    response TEXT NOT NULL,
    format TEXT NOT NULL,
    transport TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    upstream_model TEXT NOT NULL,
    status BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT,
    seconds DOUBLE PRECISION NOT NULL,
    route TEXT NOT NULL
);
CREATE INDEX requests_at ON requests (at);

CREATE TABLE attempts (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    request TEXT NOT NULL,
    response TEXT NOT NULL,
    number BIGINT NOT NULL,
    retry BIGINT NOT NULL,
    format TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    provider_type TEXT NOT NULL,
    upstream_model TEXT NOT NULL,
    credential TEXT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    first_event DOUBLE PRECISION,
    code TEXT,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    notes TEXT NOT NULL,
    repairs TEXT NOT NULL,
    lessons TEXT NOT NULL
);
CREATE INDEX attempts_at ON attempts (at);
