-- Schema 3.

-- The seal of the event and of all before it. What was written before there were seals is sealed
-- when the project is taken the next time.
ALTER TABLE events ADD COLUMN seal BLOB;

-- The seal of the last event that was dropped; none while the journal is there from its beginning.
ALTER TABLE projects ADD COLUMN dropped BLOB;

-- There is a mark beside the database that says how far the journal has come.
ALTER TABLE projects ADD COLUMN marked INTEGER NOT NULL DEFAULT 0;
