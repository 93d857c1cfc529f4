-- Schema 2.

-- How far each channel has told people what happened. What is told follows from the events.
CREATE TABLE outbox (
    project INTEGER NOT NULL,
    channel TEXT NOT NULL,
    -- The last event about which nothing is left to tell.
    upto INTEGER NOT NULL,
    -- How often what comes next was tried in vain, and when it may be tried again.
    tries INTEGER NOT NULL,
    retry_at INTEGER,
    PRIMARY KEY (project, channel)
) STRICT, WITHOUT ROWID;
