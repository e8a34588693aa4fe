-- Which jobs have done their work in this database, and the greatest fence under which work was done behind each lock.
-- `linchpin::postgres::migrate` runs this; it may be run again, and may stand among your own migrations instead.

CREATE TABLE IF NOT EXISTS linchpin_once (
    namespace text        NOT NULL,
    job       text        NOT NULL,
    step      text        NOT NULL,
    fence     bigint      NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (namespace, job, step)
);

-- What `linchpin::postgres::prune` walks, oldest first.
CREATE INDEX IF NOT EXISTS linchpin_once_by_age ON linchpin_once (namespace, at, job, step);

CREATE TABLE IF NOT EXISTS linchpin_fences (
    namespace text        NOT NULL,
    lock      text        NOT NULL,
    fence     bigint      NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (namespace, lock)
);

CREATE INDEX IF NOT EXISTS linchpin_fences_by_age ON linchpin_fences (namespace, at);
