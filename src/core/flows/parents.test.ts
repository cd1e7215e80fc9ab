import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import {
  type FlowEdge,
  followProblems,
  mostFollowers,
  mostParents,
  neverFollows,
  type ParentFacts,
  parentProblems,
  pathUp,
  withFollowers,
} from './index.js';

const job = (own: Partial<Request>): Request => ({ id: 'job', requestType: 'ON_DEMAND', ...own });
const after = (...ids: string[]) => ids.map((requestId) => ({ requestId, on: 'SUCCESS' as const }));
const said = (problems: { field: string; rule: string }[]) => problems.map(({ field, rule }) => `${field} ${rule}`);

test.each<[string, Partial<Request>, string[]]>([
  ['nothing', {}, []],
  ['parents', { after: after('a', 'b'), afterMode: 'ALL' }, []],
  ['arguments of one parent', { after: after('a'), argsFrom: 'PARENT' }, []],
  ['arguments of any parent', { after: after('a', 'b'), afterMode: 'ANY', argsFrom: 'PARENT' }, []],
  ['arguments of all parents', { after: after('a', 'b'), argsFrom: 'PARENT' }, ['argsFrom consistent']],
  ['a mode without parents', { afterMode: 'ANY' }, ['afterMode consistent']],
  ['arguments without parents', { argsFrom: 'PARENT' }, ['argsFrom consistent']],
  ['an empty list', { after: [] }, ['after min']],
  ['a parent twice', { after: after('a', 'a') }, ['after.1.requestId unique']],
  ['itself', { after: after('a', 'job') }, ['after.1.requestId cycle']],
  ['too many', { after: after(...Array.from({ length: mostParents + 1 }, (_, index) => `p${index}`)) }, ['after max']],
  ['a schedule beside it', { requestType: 'SCHEDULED', after: after('a') }, ['after notAllowed']],
  ['a service', { requestType: 'SERVICE', after: after('a') }, ['after notAllowed']],
  ['those before its start', { requestType: 'SERVICE', startAfter: ['a', 'b'] }, []],
  ['those before its start, as a job', { startAfter: ['a'] }, ['startAfter notAllowed']],
  ['none before its start', { requestType: 'WORKER', startAfter: [] }, ['startAfter min']],
  ['one twice before its start', { requestType: 'WORKER', startAfter: ['a', 'a'] }, ['startAfter.1 unique']],
  ['itself before its start', { requestType: 'WORKER', startAfter: ['job'] }, ['startAfter.0 cycle']],
])('a request that names %s', (_name, own, problems) => expect(said(followProblems(job(own)))).toEqual(problems));

describe('a request that follows', () => {
  const facts = (own: Partial<ParentFacts> = {}): ParentFacts => ({ requestType: 'SCHEDULED', followers: 0, ...own });
  const check = (
    known: Record<string, ParentFacts>,
    { former = [] as string[], edges = [] as FlowEdge[], parents = ['a'] } = {},
  ) => parentProblems(job({ after: after(...parents) }), new Map(Object.entries(known)), new Set(former), edges);

  test.each<[string, Parameters<typeof check>, string[]]>([
    ['a job', [{ a: facts() }], []],
    ['a request that runs once', [{ a: facts({ requestType: 'RUN_ONCE' }) }], []],
    ['a request that is not there', [{}], ['after.0.requestId exists']],
    ['one that it has followed and that is gone', [{}, { former: ['a'] }], []],
    ['a service', [{ a: facts({ requestType: 'SERVICE' }) }], ['after.0.requestId runs']],
    ['a worker', [{ a: facts({ requestType: 'WORKER' }) }], ['after.0.requestId runs']],
    ['one with too many followers', [{ a: facts({ followers: mostFollowers }) }], ['after.0.requestId max']],
    ['one whose followers it is among', [{ a: facts({ followers: mostFollowers }) }, { former: ['a'] }], []],
  ])('%s', (_name, parameters, problems) => expect(said(check(...parameters))).toEqual(problems));

  test.each<[string, string[], [child: string, parent: string][], string[]]>([
    [
      'with a job that leads to them',
      ['a', 'b'],
      [
        ['a', 'root'],
        ['b', 'root'],
      ],
      [],
    ],
    [
      'of which one leads to the other',
      ['a', 'b'],
      [
        ['b', 'between'],
        ['between', 'a'],
      ],
      [],
    ],
    ['with schedules of their own', ['a', 'b'], [], ['after commonFlow']],
    [
      'of which one stands alone',
      ['a', 'b', 'c'],
      [
        ['a', 'root'],
        ['b', 'root'],
        ['c', 'other'],
      ],
      ['after commonFlow'],
    ],
  ])('all of several jobs %s', (_name, parents, edges, problems) => {
    const known = Object.fromEntries(parents.map((id) => [id, facts()]));
    const all = edges.map(([child, parent]) => ({ child, parent }));
    expect(said(check(known, { parents, edges: all }))).toEqual(problems);
    const any = job({ after: after(...parents), afterMode: 'ANY' });
    expect(parentProblems(any, new Map(Object.entries(known)), new Set(), all)).toEqual([]);
    expect(neverFollows(job({ after: after(...parents) }), new Map(Object.entries(known)), all) !== undefined).toBe(
      problems.length > 0,
    );
  });

  test('never has a run once a parent that it needs is gone', () => {
    const [known, both] = [new Map([['a', facts()]]), job({ after: after('a', 'b') })];
    expect(neverFollows(both, known, [])).toBe("It follows 'b', which was removed: no run of it comes");
    expect(neverFollows({ ...both, afterMode: 'ANY' }, known, [])).toBeUndefined();
    expect(neverFollows({ ...both, afterMode: 'ANY' }, new Map(), [])).toContain("'a', 'b', which were removed");
    const service = new Map([...known, ['b', facts({ requestType: 'SERVICE' })]]);
    expect(neverFollows(both, service, [])).toContain("'b', which is a SERVICE now and has no runs");
    expect(neverFollows({ ...both, afterMode: 'ANY' }, service, [])).toBeUndefined();
  });

  test('one that follows it is told the cycle, in the order in which it would run', () => {
    const edges = [
      { child: 'a', parent: 'b' },
      { child: 'b', parent: 'job' },
      { child: 'b', parent: 'other' },
    ];
    expect(check({ a: facts() }, { edges })[0]?.message).toBe(
      "after.0.requestId: 'job' -> 'b' -> 'a' -> 'job' would run for ever",
    );
    const [problem] = parentProblems(
      job({ after: after('a') }),
      new Map([['a', facts()]]),
      new Set(),
      edges,
      (id) => id !== 'b',
    );
    expect(problem?.message).toContain("'job' -> (another) -> 'a' -> 'job'");
  });
});

describe('a service that starts after another', () => {
  const service: Request = { id: 'web', requestType: 'SERVICE', startAfter: ['db'] };
  const check = (known: Record<string, ParentFacts>, edges: FlowEdge[] = []) =>
    parentProblems(service, new Map(Object.entries(known)), new Set(), edges);

  test.each<[string, Record<string, ParentFacts>, string[]]>([
    ['a service', { db: { requestType: 'SERVICE', followers: 0 } }, []],
    ['a worker', { db: { requestType: 'WORKER', followers: 0 } }, []],
    ['a job', { db: { requestType: 'ON_DEMAND', followers: 0 } }, ['startAfter.0 runs']],
    ['one that is not there', {}, ['startAfter.0 exists']],
    ['one with too many followers', { db: { requestType: 'SERVICE', followers: mostFollowers } }, ['startAfter.0 max']],
  ])('%s', (_name, known, problems) => expect(said(check(known))).toEqual(problems));

  test('is told the cycle', () =>
    expect(check({ db: { requestType: 'SERVICE', followers: 0 } }, [{ child: 'db', parent: 'web' }])).toEqual([
      {
        field: 'startAfter.0',
        rule: 'cycle',
        message: "startAfter.0: 'web' -> 'db' -> 'web' would never start",
      },
    ]));
});

const anyEdges = fc.array(fc.record({ child: fc.nat({ max: 7 }), parent: fc.nat({ max: 7 }) }), { maxLength: 20 });
const named = (edges: readonly { child: number; parent: number }[]): FlowEdge[] =>
  edges.map(({ child, parent }) => ({ child: `n${child}`, parent: `n${parent}` }));

test('whatever follows what, there is a way up exactly to those whose followers one is among', () =>
  fc.assert(
    fc.property(anyEdges, (numbers) => {
      const edges = named(numbers);
      const ids = Array.from({ length: 8 }, (_, index) => `n${index}`);
      return ids.every((to) => {
        const below = new Set(withFollowers(to, edges));
        return ids.every((from) => (pathUp(from, to, edges) !== undefined) === below.has(from));
      });
    }),
  ));

test('edges that are added one by one, where none closes a cycle, never make one', () =>
  fc.assert(
    fc.property(anyEdges, (numbers) => {
      const kept: FlowEdge[] = [];
      for (const edge of named(numbers)) if (!pathUp(edge.parent, edge.child, kept)) kept.push(edge);
      return kept.every(({ child, parent }) => !pathUp(parent, child, kept));
    }),
  ));
