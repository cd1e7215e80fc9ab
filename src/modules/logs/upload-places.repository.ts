import { Injectable } from '@nestjs/common';
import type { LogOwner } from '../../core/logs/index.js';
import type { ObjstoreUploaderFile } from '../../core/model/deploy.js';
import { rows } from '../../platform/database/sql.js';
import type { Transaction } from '../../platform/database/transaction.js';

interface PlaceRow {
  number: number;
  bucket: string | null;
  pattern: string | null;
}

/**
 * Number of the newest deploys and runs of a request or a deploy that are looked at: the cost of a search has a bound.
 */
const mostLookedAt = 200;
/** Each place is a call of the store, at least. */
const mostPlaces = 20;

/**
 * Places to which deploys and runs have had files of theirs uploaded. By hand: it reads within documents, by the index
 * for each kind of owner.
 */
@Injectable()
export class UploadPlacesRepository {
  /** Files of each owner, in their order, that name a bucket or a key pattern of their own; each place once. */
  async ofOwners(tx: Transaction, owners: readonly LogOwner[]): Promise<ObjstoreUploaderFile[][]> {
    const found = await rows<PlaceRow>(
      tx,
      `SELECT w.number::int AS number, places.* FROM
         unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (request_id, deploy_id, task_id, number)
         CROSS JOIN LATERAL (
           SELECT DISTINCT f ->> 'objstoreUploaderBucket' AS bucket, f ->> 'objstoreUploaderKeyPattern' AS pattern FROM (
             SELECT data #> '{deploy,objstoreUploaderAdditionalFiles}' AS files FROM deploy_history d
               WHERE d.request_id = w.request_id AND d.deploy_id = w.deploy_id
             UNION ALL (SELECT data #> '{deploy,objstoreUploaderAdditionalFiles}' FROM deploy_history d
               WHERE w.deploy_id IS NULL AND d.request_id = w.request_id ORDER BY d.created_at DESC LIMIT $4)
             UNION ALL SELECT data #> '{task,taskRequest,pendingTask,objstoreUploaderAdditionalFiles}' FROM task_history h
               WHERE h.task_id = w.task_id
             UNION ALL (SELECT data #> '{task,taskRequest,pendingTask,objstoreUploaderAdditionalFiles}' FROM task_history h
               WHERE w.task_id IS NULL AND h.request_id = w.request_id AND h.deploy_id = w.deploy_id
               ORDER BY h.updated_at DESC LIMIT $4)
             UNION ALL (SELECT data #> '{task,taskRequest,pendingTask,objstoreUploaderAdditionalFiles}' FROM task_history h
               WHERE w.deploy_id IS NULL AND h.request_id = w.request_id ORDER BY h.updated_at DESC LIMIT $4)
             UNION ALL (SELECT (l.document #> '{pendingTask,objstoreUploaderAdditionalFiles}')::jsonb
               FROM task t JOIN task_launch l USING (task_id)
               WHERE t.request_id = w.request_id AND (w.deploy_id IS NULL OR t.deploy_id = w.deploy_id)
                 AND (w.task_id IS NULL OR t.task_id = w.task_id) ORDER BY t.started_at DESC LIMIT $4)
           ) said, jsonb_array_elements(CASE jsonb_typeof(files) WHEN 'array' THEN files ELSE '[]' END) AS f
           WHERE f ?| ARRAY['objstoreUploaderBucket', 'objstoreUploaderKeyPattern'] LIMIT $5
         ) places`,
      [
        owners.map((owner) => owner.requestId),
        owners.map((owner) => owner.deployId ?? null),
        owners.map((owner) => owner.task?.id ?? null),
        mostLookedAt,
        mostPlaces,
      ],
    );
    const files: ObjstoreUploaderFile[][] = owners.map(() => []);
    for (const { number, bucket, pattern } of found) {
      files[number - 1]!.push({
        filename: '',
        ...(bucket !== null && { objstoreUploaderBucket: bucket }),
        ...(pattern !== null && { objstoreUploaderKeyPattern: pattern }),
      });
    }
    return files;
  }
}
