import pg from 'pg';
import { QueryFailedError, QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { describe, expect, test } from 'vitest';
import { NotLeaderError } from '../leadership/leadership.js';
import { concernsAll, isPassing, isShortOfResources } from './database-errors.js';

const coded = (code: string, message = 'refused'): Error => Object.assign(new Error(message), { code });

test.each([
  ['a refused connection', coded('ECONNREFUSED'), true],
  ['a server that starts', coded('57P03', 'the database system is starting up'), true],
  ['a connection that broke in a query', new QueryFailedError('SELECT 1', [], coded('57P01')), true],
  ['one that broke between two statements of a transaction', new QueryRunnerAlreadyReleasedError(), true],
  ['the same for a statement of its entity manager', new QueryRunnerProviderAlreadyReleasedError(), true],
  ['several addresses, none of which answers', new AggregateError([coded('ECONNREFUSED')]), true],
  ['a full disk', new QueryFailedError('INSERT', [], coded('53100')), true],
  ['no memory', coded('53200'), true],
  ['no connection left', coded('53300'), true],
  ['a disk that fails', coded('58030'), true],
  ['a lock that took too long', coded('55P03'), true],
  ['a deadlock', coded('40P01'), true],
  ['a server that is no longer the one to write to', coded('25006'), true],
  ['a query that got no answer', new Error('Query read timeout'), true],
  ['a disk of ours that is full', coded('ENOSPC'), true],
  ['another leader', new NotLeaderError('it holds no lease'), true],
  ['a broken constraint', new QueryFailedError('INSERT', [], coded('23505')), false],
  ['a statement that is too long', coded('54000'), false],
  ['an error of Node whose code begins like a state', coded('55_TOO_MUCH'), false],
  ['a fault of ours', new TypeError("Cannot read properties of undefined (reading 'id')"), false],
])('%s', (_name, cause, passing) => expect(isPassing(cause)).toBe(passing));

test.each(['53000', '53100', '53200', '53300', '53400', '58000', '58030'])(
  '%s is for operators, who have to make room, and passes when they have',
  (code) => {
    const cause = new QueryFailedError('INSERT', [], coded(code));
    expect([isShortOfResources(cause), isPassing(cause)]).toEqual([true, true]);
  },
);
test('a lost connection is no shortage', () => expect(isShortOfResources(coded('08006'))).toBe(false));

test.each([
  ['a full disk', coded('53100'), true],
  ['a connection that broke', new QueryFailedError('SELECT 1', [], coded('57P01')), true],
  ['another leader', new NotLeaderError('it holds no lease'), true],
  ['a deadlock', coded('40P01'), false],
  ['a lock that took too long', new QueryFailedError('UPDATE', [], coded('55P03')), false],
  ['a statement that took too long', coded('57014'), false],
  ['a broken constraint', coded('23505'), false],
])('whether whatever else is tried fails, too: %s', (_name, cause, all) => expect(concernsAll(cause)).toBe(all));

describe('what the pool itself throws', () => {
  const nowhere = { host: '127.0.0.1', port: 1, connectionTimeoutMillis: 1_000 };
  test('after its end', async () => {
    const pool = new pg.Pool(nowhere);
    await pool.end();
    expect(isPassing(await pool.query('SELECT 1').catch((cause: unknown) => cause))).toBe(true);
  });

  test('when nothing answers', async () => {
    const pool = new pg.Pool(nowhere);
    expect(isPassing(await pool.query('SELECT 1').catch((cause: unknown) => cause))).toBe(true);
    await pool.end();
  });
});
