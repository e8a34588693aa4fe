-- Purpose: takes the fences of all locks of an attempt, and then, where each was taken, notes that its job's work is done.
-- $1 namespace, $2 locks, $3 their fences, $4 job, $5 step, $6 the attempt's fence
-- Returns: the locks that were taken, and whether the job was not noted before.
-- A row that another transaction has changed or added and not yet committed is waited for; then what it left counts. Locks come in one
-- order, so that two attempts never wait for each other here.
WITH taken AS (
    INSERT INTO linchpin_fences (namespace, lock, fence, at)
    SELECT $1, held.lock, held.fence, now()
    FROM unnest($2::text[], $3::bigint[]) AS held (lock, fence)
    ORDER BY held.lock
    ON CONFLICT (namespace, lock) DO UPDATE SET fence = excluded.fence, at = excluded.at
        WHERE linchpin_fences.fence <= excluded.fence
    RETURNING lock
), noted AS (
    INSERT INTO linchpin_once (namespace, job, step, fence, at)
    SELECT $1, $4, $5, $6, now()
    WHERE (SELECT count(*) FROM taken) = cardinality($2::text[])
    ON CONFLICT (namespace, job, step) DO NOTHING
    RETURNING job
)
SELECT ARRAY(SELECT lock FROM taken), EXISTS (SELECT FROM noted)
