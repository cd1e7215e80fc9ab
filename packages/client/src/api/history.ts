import { type Contract, contract } from 'rest-contract/client';
import { taskHistory } from './task-history.js';
import { requestHistory } from './request-history.js';

/** What has been: ended tasks, deploys, changes of requests. */
export const HistoryApi: Contract<typeof taskHistory & typeof requestHistory, never> = contract('HistoryApi', {
  ...taskHistory,
  ...requestHistory,
});
