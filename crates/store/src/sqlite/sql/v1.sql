-- Schema 1. Everything is keyed by its project; times are milliseconds since the Unix epoch.
-- A text called `body`, `spec` or `moved` is JSON, written and read by one type of the program.

CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Moves on each time somebody takes the project; whoever has an older one writes no more.
    epoch INTEGER NOT NULL DEFAULT 0,
    -- The last one let go of it properly.
    clean INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE TABLE events (
    project INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    build INTEGER,
    task INTEGER,
    run INTEGER,
    -- Why it was decided; only decisions have one.
    why TEXT,
    body TEXT NOT NULL,
    type TEXT GENERATED ALWAYS AS (body ->> '$.type') VIRTUAL,
    PRIMARY KEY (project, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX decisions ON events (project, run, seq) WHERE why IS NOT NULL;

CREATE TABLE snapshots (
    project INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (project, seq)
) STRICT;

CREATE TABLE answers (
    -- The order they were given in.
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    question INTEGER NOT NULL,
    decision TEXT NOT NULL,
    guidance TEXT,
    by TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- It has become part of the journal.
    taken INTEGER NOT NULL DEFAULT 0,
    -- One answer per question: of two, one wins here.
    UNIQUE (project, question)
) STRICT;

CREATE INDEX answers_waiting ON answers (project, id) WHERE taken = 0;

CREATE TABLE builds (
    project INTEGER NOT NULL,
    id INTEGER NOT NULL,
    standing INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
    project INTEGER NOT NULL,
    id INTEGER NOT NULL,
    build INTEGER NOT NULL,
    spec TEXT NOT NULL,
    moved TEXT NOT NULL,
    PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_of_build ON tasks (project, build);

CREATE TABLE runs (
    project INTEGER NOT NULL,
    id INTEGER NOT NULL,
    task INTEGER NOT NULL,
    retry_of INTEGER,
    phase TEXT NOT NULL,
    status TEXT NOT NULL,
    fault TEXT,
    iterations INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    money_micros INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_of_task ON runs (project, task);

CREATE TABLE questions (
    project INTEGER NOT NULL,
    id INTEGER NOT NULL,
    build INTEGER,
    status TEXT NOT NULL,
    body TEXT NOT NULL,
    decision TEXT,
    guidance TEXT,
    answered_by TEXT,
    resolved_at INTEGER,
    PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mutations (
    project INTEGER NOT NULL,
    id INTEGER NOT NULL,
    task INTEGER NOT NULL,
    run INTEGER NOT NULL,
    spec TEXT NOT NULL,
    status TEXT NOT NULL,
    result TEXT NOT NULL,
    intended_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX mutations_of_task ON mutations (project, task);

-- The latest conversation of each task that has one.
CREATE TABLE checkpoints (
    project INTEGER NOT NULL,
    task INTEGER NOT NULL,
    conversation TEXT NOT NULL,
    PRIMARY KEY (project, task)
) STRICT;

CREATE TABLE gates (
    project INTEGER NOT NULL,
    key INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (project, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE signatures (
    project INTEGER NOT NULL,
    signature TEXT NOT NULL,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    PRIMARY KEY (project, signature)
) STRICT, WITHOUT ROWID;

CREATE TABLE costs (
    project INTEGER NOT NULL,
    day INTEGER NOT NULL,
    task INTEGER NOT NULL,
    money_micros INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    PRIMARY KEY (project, day, task)
) STRICT, WITHOUT ROWID;
