import { expect, test } from 'vitest';
import { user } from '../../../test/support/fixtures/authorization.js';
import { isRelevantFor } from './decide.js';
import { builtInUser } from './access-rules.js';

const ann = user(['web'], [], { email: 'ann@example.com', name: 'Ann' });
const nothing = { group: 'db', starred: false, actedBy: [] };

test.each([
  { name: 'that they starred', facts: { ...nothing, starred: true }, is: true },
  { name: 'of one of their groups', facts: { ...nothing, group: 'web' }, is: true },
  { name: 'that they deployed, by e-mail', facts: { ...nothing, actedBy: ['ann@example.com'] }, is: true },
  { name: 'that they deployed, by id', facts: { ...nothing, actedBy: [undefined, 'ann'] }, is: true },
  { name: 'that they deployed, by name', facts: { ...nothing, actedBy: ['bob', 'Ann'] }, is: true },
  { name: 'that others deployed', facts: { ...nothing, actedBy: ['bob', undefined] }, is: false },
  { name: 'of no user', facts: { starred: false, actedBy: [undefined] }, is: false },
])('a request $name concerns a caller: $is', ({ facts, is }) => expect(isRelevantFor(ann, facts)).toBe(is));

test('everything concerns the built-in user', () => expect(isRelevantFor(builtInUser, nothing)).toBe(true));
