-- The tables of ../sqlite/0001_first.sql, where they are explained.
CREATE TABLE texts (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,
    data BYTEA NOT NULL
);

CREATE TABLE conversations (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    length BIGINT NOT NULL DEFAULT 0,
    deleted SMALLINT NOT NULL DEFAULT 0,
    metadata BYTEA NOT NULL
);
CREATE INDEX conversations_used ON conversations (used_at);

CREATE TABLE responses (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    status TEXT NOT NULL,
    background SMALLINT NOT NULL,
    deleted SMALLINT NOT NULL DEFAULT 0,
    continues BIGINT REFERENCES responses (key),
    base BIGINT REFERENCES conversations (key),
    base_length BIGINT,
    tools BIGINT REFERENCES texts (key),
    tools_at BIGINT,
    output_at BIGINT,
    owner TEXT,
    conversation TEXT,
    model TEXT NOT NULL,
    tool_choice BYTEA,
    instructions BYTEA,
    data BYTEA NOT NULL
);
CREATE INDEX responses_created ON responses (created_at);
CREATE INDEX responses_continues ON responses (continues) WHERE continues IS NOT NULL;
CREATE INDEX responses_base ON responses (base) WHERE base IS NOT NULL;
CREATE INDEX responses_tools ON responses (tools) WHERE tools IS NOT NULL;
CREATE INDEX responses_owner ON responses (owner) WHERE owner IS NOT NULL;

CREATE TABLE items (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL,
    response BIGINT REFERENCES responses (key),
    position BIGINT NOT NULL,
    output SMALLINT NOT NULL,
    data BYTEA NOT NULL
);
CREATE INDEX items_id ON items USING hash (id);
CREATE INDEX items_response ON items (response, position);

CREATE TABLE conversation_items (
    conversation BIGINT NOT NULL REFERENCES conversations (key),
    place BIGINT NOT NULL,
    item BIGINT NOT NULL REFERENCES items (key),
    removed SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation, place)
);
CREATE INDEX conversation_items_item ON conversation_items (item);

CREATE TABLE events (
    response BIGINT NOT NULL REFERENCES responses (key),
    number BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (response, number)
);

CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    until BIGINT NOT NULL
);

CREATE TABLE probe (
    key BIGINT PRIMARY KEY,
    at BIGINT NOT NULL
);

-- What authenticates texts that travel through clients; as private as the conversations beside it.
CREATE TABLE keys (
    name TEXT PRIMARY KEY,
    data BYTEA NOT NULL
);
