/** End of the generated history, epoch milliseconds. */
export const newest = Date.UTC(2026, 0, 5, 12);

/**
 * Ended tasks of 90 days as they come about: 1,000 requests of which one has a fifth of all tasks, 500 machines, deploys
 * that follow each other, most tasks over in minutes and one in fifty running for days. TASK_LOST comes from one bad day
 * long ago. Each has a document of about a kilobyte, as in real life: what a search need not read, it should not.
 */
export async function fillHistory(client, tasks) {
  await client.query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at,
       running_at, updated_at, last_task_status, data)
     SELECT request_id || '-' || deploy_id || '-' || (extract(epoch FROM started_at) * 1000)::bigint || '-' || instance_no || '-' || host || '-rack_1',
       request_id, deploy_id, CASE WHEN n % 2 = 0 THEN 'run-' || n END, host, host, 'rack_1', instance_no, started_at,
       started_at, started_at + seconds * interval '1 second',
       CASE WHEN n BETWEEN $1::int / 100 AND $1::int / 100 + $1::int / 500 THEN 'TASK_LOST' WHEN n % 17 = 0 THEN 'TASK_FAILED'
         WHEN n % 29 = 0 THEN 'TASK_KILLED' ELSE 'TASK_FINISHED' END,
       jsonb_build_object('task', jsonb_build_object('taskId', jsonb_build_object('id', n)), 'directory', repeat(md5(n::text), 30))
     FROM (
       SELECT n, host, instance_no, request_id, seconds,
         CASE WHEN n % 11 = 0 THEN 'common' ELSE 'd' || replace(request_id, 'request-', '') || '-' || (n * 5::bigint / $1) END AS deploy_id,
         to_timestamp($2::double precision / 1000) - ($1 - n) * (interval '90 days' / $1) AS started_at
       FROM (
         SELECT n, 'host_' || (hashint4(n) & 1023) % 500 AS host, 1 + n % 10 AS instance_no,
           CASE WHEN n % 5 = 0 THEN 'big' ELSE 'request-' || (hashint4(n + 7) & 65535) % 1000 END AS request_id,
           CASE WHEN n % 50 = 3 THEN 86400 * (1 + n % 5) ELSE 30 + (hashint4(n + 3) & 1023) END AS seconds
         FROM generate_series(1, $1::int) AS n
       ) AS each
     ) AS task`,
    [tasks, newest],
  );
  // As autovacuum leaves it.
  await client.query('VACUUM (ANALYZE) task_history');
}
