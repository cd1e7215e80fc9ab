import { expect, test } from 'vitest';
import type { Contract, ContractOperation } from '../contract/contract.js';
import { Ledger } from './ledger.js';

const operation = (method: string, path: string, statedStatuses: string): ContractOperation => ({
  group: 'Things',
  method,
  path,
  statedStatuses,
  params: [],
  body: null,
  response: null,
});
const contract: Contract = {
  operations: [
    operation('GET', '/api/things', ''),
    operation('POST', '/api/things', '202 made, 400 invalid, 409 exists'),
    { ...operation('GET', '/api/others', ''), group: 'Others' },
  ],
  records: {},
};

test('names the operations of its group that were not seen to succeed, and the stated failures not seen', () => {
  const ledger = new Ledger(contract.operations, 'Things');
  expect(ledger.missing()).toEqual(['GET /api/things: success', 'POST /api/things: success, 400, 409']);
  ledger.record('GET /api/things', 404);
  ledger.record('POST /api/things', 202);
  ledger.record('POST /api/things', 409);
  expect(ledger.missing()).toEqual(['GET /api/things: success', 'POST /api/things: 400']);
  ledger.record('GET /api/things', 200);
  ledger.record('POST /api/things', 400);
  expect(ledger.missing()).toEqual([]);
});

test('knows no group that the contract does not have', () => {
  expect(() => new Ledger(contract.operations, 'Thing')).toThrow(`no group 'Thing'`);
});
