// Rows as the product would have written them, many at a time.
const { makePendingTaskId } = await import(new URL('../../../dist/src/core/task-id.js', import.meta.url));

/** Services with an active deploy each, and a pending task for each of their instances. `deployOf(requestId, index)`. */
export async function insertServices(query, { tasks, instances, deployOf }) {
  const now = Date.now();
  const ids = Array.from({ length: Math.ceil(tasks / instances) }, (_, index) => `request-${index}`);
  await query(
    `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document)
     SELECT id, 'SERVICE', 'ACTIVE', $3, 'd1', document FROM unnest($1::text[], $2::jsonb[]) AS r (id, document)`,
    [ids, ids.map((id) => JSON.stringify({ id, requestType: 'SERVICE', instances })), new Date(now)],
  );
  await query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, data)
     SELECT id, 'd1', $3, data FROM unnest($1::text[], $2::jsonb[]) AS d (id, data)`,
    [ids, ids.map((id, index) => JSON.stringify({ deploy: deployOf(id, index) })), new Date(now)],
  );
  const pending = Array.from({ length: tasks }, (_, index) => {
    const requestId = ids[Math.floor(index / instances)];
    const parts = { requestId, deployId: 'd1', nextRunAt: now, instanceNo: (index % instances) + 1, createdAt: now };
    return { pendingTaskId: makePendingTaskId({ ...parts, pendingType: 'NEW_DEPLOY' }) };
  });
  await query(
    `INSERT INTO pending_task (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, document)
     SELECT id, request_id, 'd1', instance_no, 'NEW_DEPLOY', $5, $5, document
     FROM unnest($1::text[], $2::text[], $3::integer[], $4::jsonb[]) AS p (id, request_id, instance_no, document)`,
    [
      pending.map(({ pendingTaskId }) => pendingTaskId.id),
      pending.map(({ pendingTaskId }) => pendingTaskId.requestId),
      pending.map(({ pendingTaskId }) => pendingTaskId.instanceNo),
      pending.map((task) => JSON.stringify(task)),
      new Date(now),
    ],
  );
  return ids;
}
