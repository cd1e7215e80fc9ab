import { contract } from 'rest-contract/client';
import { taskHistory } from './task-history.js';
import { requestHistory } from './request-history.js';

/** What has been: ended tasks, deploys, changes of requests. */
export const HistoryApi = contract('HistoryApi', { ...taskHistory, ...requestHistory });
