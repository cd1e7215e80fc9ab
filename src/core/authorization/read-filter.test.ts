import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AccessRules, authModes, overlaps, type RequestGroups, type User, writersOf } from './access-rules.js';
import { decide } from './decide.js';
import { type ReadFilter, readFilter } from './read-filter.js';

const names = fc.subarray(['web', 'data', 'ops', 'all', 'read']);
const rules: fc.Arbitrary<AccessRules> = fc.record({
  enabled: fc.boolean(),
  authMode: fc.constantFrom(...authModes),
  adminGroups: fc.subarray(['ops']),
  requiredGroups: fc.subarray(['all']),
  jitaGroups: fc.subarray(['ops']),
  defaultReadOnlyGroups: names,
  globalReadOnlyGroups: fc.subarray(['read']),
  globalReadWriteGroups: fc.subarray(['data']),
  scopes: fc.constant({ admin: ['ADMIN'], write: ['WRITE'], read: ['READ'], deploy: [], approve: [] }),
});
const user: fc.Arbitrary<User> = fc.record({
  id: fc.constant('someone'),
  groups: names,
  scopes: fc.subarray(['ADMIN', 'WRITE', 'READ', 'web']),
  authenticated: fc.boolean(),
});
const request: fc.Arbitrary<RequestGroups> = fc.record(
  { group: fc.constantFrom('web', 'data', 'ops'), readWriteGroups: names, readOnlyGroups: names },
  { requiredKeys: [] },
);

/** As the SQL of lists says it. */
function isSeen(sight: ReadFilter, groups: RequestGroups): boolean {
  if (sight.kind !== 'some') return sight.kind === 'all';
  const writers = writersOf(groups);
  return (
    (sight.withoutWriters && writers.length === 0) ||
    (sight.byDefault && groups.readOnlyGroups === undefined) ||
    overlaps(sight.groups, [...writers, ...(groups.readOnlyGroups ?? [])])
  );
}

test('a caller sees those requests in lists that they may read one by one', () => {
  fc.assert(
    fc.property(rules, user, request, (of, who, groups) => {
      const { allowed } = decide(of, who, { kind: 'request', scope: 'READ', requestId: 'r', groups });
      expect(isSeen(readFilter(of, who), groups)).toBe(allowed);
    }),
    { numRuns: 5_000 },
  );
});
