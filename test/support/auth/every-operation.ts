import { makePendingTaskId, makeTaskId } from '../../../src/core/task-id.js';
import { RawCaller, type RawAnswer } from '../raw-http.js';
import { createDatabase } from '../test-database.js';
import { expectedAccess } from './expected-access.js';
import { GuardedApp, letThrough } from './guarded-app.js';

interface Operation {
  /** Such as `GET /api/requests/request/:requestId`. */
  name: string;
  method: string;
  /** With the ids of the request `shop` and of its tasks in it. */
  path: string;
}

const times = { startedAt: 1, nextRunAt: 1, createdAt: 1 };
const ids = { requestId: 'shop', deployId: 'd1', instanceNo: 1, host: 'h', rackId: 'r' };
const pendingTaskId = makePendingTaskId({ ...ids, ...times, pendingType: 'NEW_DEPLOY' }).id;
const parameters: Record<string, string> = {
  taskId: makeTaskId({ ...ids, ...times }).id,
  pendingTaskId,
  scheduledTaskId: pendingTaskId,
};

/**
 * The whole application with authentication and a request `shop` of group web, which group reader reads; nothing is done, but it
 * is told how far a call got.
 */
export class EveryOperation {
  private constructor(
    readonly app: GuardedApp,
    readonly raw: RawCaller,
    /** Operations that ask something of their caller. */
    readonly operations: readonly Operation[],
    readonly tokens: { reader: string; admin: string },
    private readonly remove: () => Promise<void>,
  ) {}

  /** `settings` and `authenticators` as in the settings file. */
  static async start(settings: Record<string, unknown> = {}, authenticators = ['TOKEN']): Promise<EveryOperation> {
    const { url: databaseUrl, remove } = await createDatabase();
    const app = await GuardedApp.start(databaseUrl, {
      auth: { enabled: true, authenticators, adminGroups: ['admin'], failuresBeforeDelay: 100_000 },
      objstore: { endpoint: 'http://127.0.0.1:9', objstoreBucket: 'logs' },
      ...settings,
    });
    const shop = { id: 'shop', requestType: 'SERVICE', group: 'web', readOnlyGroups: ['reader'] };
    await app.sql(
      `INSERT INTO request (id, request_type, state, changed_at, document)
       VALUES ('shop', 'SERVICE', 'ACTIVE', now(), $1)`,
      [JSON.stringify(shop)],
    );
    const tokenOf = (id: string) => app.tokenOf({ id, groups: [id], scopes: [], authenticated: true });
    const operations = app
      .operations()
      .filter((name) => expectedAccess.get(name) !== 'open')
      .map((name) => {
        const [method, route] = name.split(' ') as [string, string];
        return { name, method, path: route.replaceAll(/:(\w+)/g, (_all, id: string) => parameters[id] ?? 'shop') };
      });
    const tokens = { reader: await tokenOf('reader'), admin: await tokenOf('admin') };
    return new EveryOperation(app, new RawCaller(app.url), operations, tokens, remove);
  }

  with(...methods: string[]): readonly Operation[] {
    return this.operations.filter(({ method }) => methods.includes(method));
  }

  async close(): Promise<void> {
    this.raw.close();
    await this.app.close();
    await this.remove();
  }
}

/** Whatever operation reads it: it is about the request `shop`. */
export const aboutShop = JSON.stringify({
  id: 'shop',
  requestType: 'SERVICE',
  group: 'web',
  requestId: 'shop',
  requestIds: ['shop'],
  from: 'shop',
  deploy: { id: 'd1', requestId: 'shop' },
});

/** The operation that the call got to. */
export const operationIn = ({ body }: RawAnswer): string | undefined => /let through to (\w+ [^"]+)/.exec(body)?.[1];

/** The guarded operation that the call got to, or another fault of its answer; undefined: it was refused, in order. */
export function reached(answer: RawAnswer): string | undefined {
  if (answer.status !== letThrough) {
    return [400, 401, 403, 404, 405, 415, 421, 429].includes(answer.status) ? undefined : `status ${answer.status}`;
  }
  const operation = operationIn(answer);
  if (operation === undefined) return 'an operation, by HEAD'; // whose answer has no body that would say which
  const isGuarded = / \/(api\/|metrics)/.test(operation) && expectedAccess.get(operation) !== 'open';
  return isGuarded ? operation : undefined;
}
