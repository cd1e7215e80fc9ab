import { contract } from 'rest-contract/client';
import { requestActions } from './request-actions.js';
import { requestReads } from './request-reads.js';

/** Requests: what is to run, and everything that can be done to it. */
export const RequestsApi = contract('RequestsApi', { ...requestActions, ...requestReads });
