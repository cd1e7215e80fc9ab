import { contract, get } from 'rest-contract/client';
import { Health, Readiness } from '../records/health.js';

/** Whether an instance lives and can serve. */
export const HealthApi = contract('HealthApi', {
  /** Answers as long as the process runs. */
  live: get({}, Health, { path: 'healthz' }),
  /**
   * 200 when this instance can serve, 503 while the database is away, has the schema of a newer program, or a poller
   * that the service depends on keeps failing; who leads, and which pollers fail.
   */
  ready: get({}, Readiness, { path: 'readyz' }),
});
