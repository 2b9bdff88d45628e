-- Items have keys of their own, so a public id may be stored any number of times. Big columns stand last: SQLite then
-- walks a chain of responses without reading them.
CREATE TABLE texts (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    data BLOB NOT NULL
);

CREATE TABLE conversations (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    length INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    metadata BLOB NOT NULL
);
CREATE INDEX conversations_used ON conversations (used_at);

-- continues: whose window comes before the own items; base, base_length: the part of a conversation before the first
-- of that chain. tools_at, output_at: where in data these were cut out. A deleted response that others continue stays
-- as a row without content.
CREATE TABLE responses (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    background INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    continues INTEGER REFERENCES responses (key),
    base INTEGER REFERENCES conversations (key),
    base_length INTEGER,
    tools INTEGER REFERENCES texts (key),
    tools_at INTEGER,
    output_at INTEGER,
    owner TEXT,
    conversation TEXT,
    model TEXT NOT NULL,
    tool_choice BLOB,
    instructions BLOB,
    data BLOB NOT NULL
);
CREATE INDEX responses_created ON responses (created_at);
CREATE INDEX responses_continues ON responses (continues) WHERE continues IS NOT NULL;
CREATE INDEX responses_base ON responses (base) WHERE base IS NOT NULL;
CREATE INDEX responses_tools ON responses (tools) WHERE tools IS NOT NULL;
CREATE INDEX responses_owner ON responses (owner) WHERE owner IS NOT NULL;

-- response: whose own item it is; none when it was added to a conversation, or its response is gone.
CREATE TABLE items (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    response INTEGER REFERENCES responses (key),
    position INTEGER NOT NULL,
    output INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX items_id ON items (id);
CREATE INDEX items_response ON items (response, position);

-- removed: no longer in the conversation, but in the window of a response made before.
CREATE TABLE conversation_items (
    conversation INTEGER NOT NULL REFERENCES conversations (key),
    place INTEGER NOT NULL,
    item INTEGER NOT NULL REFERENCES items (key),
    removed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation, place)
) WITHOUT ROWID;
CREATE INDEX conversation_items_item ON conversation_items (item);

CREATE TABLE events (
    response INTEGER NOT NULL REFERENCES responses (key),
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (response, number)
) WITHOUT ROWID;

CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    until INTEGER NOT NULL
);

-- Written to find out whether a store that failed takes writes again.
CREATE TABLE probe (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
);

-- What authenticates texts that travel through clients; as private as the conversations beside it.
CREATE TABLE keys (
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL
);
