import { type Contract, contract } from 'rest-contract/client';
import { requestActions } from './request-actions.js';
import { requestReads } from './request-reads.js';

/** Requests: what is to run, and everything that can be done to it. */
export const RequestsApi: Contract<typeof requestActions & typeof requestReads, never> = contract('RequestsApi', {
  ...requestActions,
  ...requestReads,
});
