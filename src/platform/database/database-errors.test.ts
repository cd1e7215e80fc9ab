import { QueryFailedError, QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { expect, test } from 'vitest';
import { isDatabaseAway } from './database-errors.js';

const coded = (code: string, message = 'refused'): Error => Object.assign(new Error(message), { code });

test.each([
  ['a refused connection', coded('ECONNREFUSED'), true],
  ['a server that starts', coded('57P03', 'the database system is starting up'), true],
  ['a connection that broke in a query', new QueryFailedError('SELECT 1', [], coded('57P01')), true],
  ['one that broke between two statements of a transaction', new QueryRunnerAlreadyReleasedError(), true],
  ['the same for a statement of its entity manager', new QueryRunnerProviderAlreadyReleasedError(), true],
  ['several addresses, none of which answers', new AggregateError([coded('ECONNREFUSED')]), true],
  ['a broken constraint', new QueryFailedError('INSERT', [], coded('23505')), false],
  ['a fault of ours', new TypeError("Cannot read properties of undefined (reading 'id')"), false],
])('%s', (_name, cause, away) => expect(isDatabaseAway(cause)).toBe(away));
