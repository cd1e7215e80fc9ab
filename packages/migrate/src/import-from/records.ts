import { z } from 'zod';
import { normalizeBody } from '../../../../src/platform/http/bodies.js';
import { InputPipe } from '../../../../src/platform/http/input.pipe.js';
import { lastMillis } from '../../../../src/platform/http/input-limits.js';

/* Of what the other installation answers, the members that the import itself looks at. All others come along. */

const id = z.string().min(1);
const time = z.number().int().min(0).max(lastMillis);
const marker = z.looseObject({
  requestId: id,
  deployId: id,
  timestamp: time,
  user: z.string().optional(),
  message: z.string().optional(),
});

const parent = z.looseObject({
  request: z.looseObject({ id }),
  state: id,
  requestDeployState: z.looseObject({ activeDeploy: marker.optional(), pendingDeploy: marker.optional() }).optional(),
});
const requestEvent = z.looseObject({
  createdAt: time,
  eventType: id,
  user: z.string().optional(),
  message: z.string().optional(),
  request: z.looseObject({ id }),
});
const deployHistory = z.looseObject({
  deployMarker: marker,
  deployResult: z.looseObject({ deployState: id, timestamp: time }).optional(),
  deploy: z.looseObject({ id }).optional(),
});
const taskEntry = z.looseObject({
  taskId: z.looseObject({ id }),
  updatedAt: time,
  runId: z.string().optional(),
  lastTaskState: z.string().optional(),
});
const taskHistory = z.looseObject({
  task: z.looseObject({ taskId: z.looseObject({ id }) }),
  taskUpdates: z.array(z.looseObject({ timestamp: time, taskState: id })),
});

export type OriginalParent = z.infer<typeof parent>;
export type OriginalRequestEvent = z.infer<typeof requestEvent>;
export type OriginalDeploy = z.infer<typeof deployHistory>;
export type OriginalTaskEntry = z.infer<typeof taskEntry>;
export type OriginalTask = z.infer<typeof taskHistory>;

/** In our names, without what is null, and storable; else it throws, naming field and rule. */
const reader =
  <T>(schema: z.ZodType<T>) =>
  (answer: unknown): T =>
    schema.parse(normalizeBody(answer, true));

export const readParent = reader(parent);
export const readRequestEvent = reader(requestEvent);
export const readDeploy = reader(deployHistory);
export const readTaskEntry = reader(taskEntry);
export const readTask = reader(taskHistory);

const input = new InputPipe({ readsLoosely: false });

/** Checks by every rule for a body of our API; throws, naming field and rule, if one is broken. */
export const readBody = <T>(answer: unknown, metatype: new () => T): Promise<T> =>
  input.transform(normalizeBody(answer, true), { type: 'body', metatype }) as Promise<T>;
