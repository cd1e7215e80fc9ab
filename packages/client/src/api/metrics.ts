import { contract, get, text } from 'rest-contract/client';
import { MetricsContainer } from '../records/health.js';
import { int64, map } from '../schema.js';

/** Figures of an instance and of the service. */
export const MetricsApi = contract('MetricsApi', {
  /** Shows the figures of this instance and of the service. */
  get: get({}, MetricsContainer, { path: 'api/metrics' }),
  /**
   * Shows how many bytes the ids of requests, of live tasks and of tasks of the history take. Of a long history:
   * about.
   */
  idBytes: get({}, map(int64), { path: 'api/metrics/zk-bytes' }),
  /** The same figures in the notation of Prometheus. */
  text: get({}, text('text/plain'), { path: 'metrics' }),
});
