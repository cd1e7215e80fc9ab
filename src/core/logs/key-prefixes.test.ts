import { expect, test } from 'vitest';
import { isOwn, keyPrefixes } from './key-prefixes.js';
import { idOf, searchFor, standardPattern } from '../../../test/support/fixtures/logs.js';

const request = searchFor('web');
const deploy = searchFor('web', { deployId: 'd1' });
const task = searchFor('web', { deployId: 'd1', isTask: true });
const prefixes = (pattern: string, { subject, span } = request): string[] | undefined =>
  keyPrefixes(pattern, subject, span)?.map(({ prefix }) => prefix);

test.each([
  {
    name: 'a task: all is known up to the index',
    search: task,
    is: [`web/2026/02/${idOf('web', 'd1')}_`, `web/2026/01/${idOf('web', 'd1')}_`],
  },
  {
    name: 'a deploy: the task id is cut after the deploy',
    search: deploy,
    is: ['web/2026/02/web-d1-', 'web/2026/01/web-d1-'],
  },
  {
    name: 'a request: the task id is cut after the request',
    search: request,
    is: ['web/2026/02/web-', 'web/2026/01/web-'],
  },
])('$name', ({ search, is }) => expect(prefixes(standardPattern, search)).toEqual(is));

test.each([
  { pattern: '%requestId/%index', is: ['web/'] },
  { pattern: '%requestId/%s', is: ['web/'] },
  { pattern: '%requestId/x-%filename', is: ['web/x-'] },
  { pattern: '%requestId/%guid/y', is: ['web/'] },
  { pattern: '%requestId/%fileext', is: ['web/'] },
  { pattern: '%group/%requestId/%host/y', is: ['default/web/'] },
  { pattern: '%requestId/%tag/y', is: ['web/'] },
  { pattern: '%requestId/%deployId/y', is: ['web/'] },
  { pattern: '%requestId/%Y', is: ['web/2026'] },
  { pattern: '%requestId/%Y%m%d-%filename', is: ['web/20260201-', 'web/20260131-'] },
  { pattern: '%d.%m.%requestId', is: ['01.02.web', '31.01.web'] },
  { pattern: '%requestId/%filename/%Y/%m', is: ['web/'] },
  { pattern: '%requestId', is: ['web'] },
])('of a request $pattern begins $is', ({ pattern, is }) => expect(prefixes(pattern)).toEqual(is));

test.each([
  { pattern: '%requestId/%host/%index', search: task, is: ['web/host_1/'] },
  { pattern: '%requestId/%tag/%deployId/%index', search: task, is: ['web/web/d1/'] },
  { pattern: '%requestId/%host/%index', search: deploy, is: ['web/'] },
  { pattern: '%requestId/%tag/%deployId/%index', search: deploy, is: ['web/web/d1/'] },
])('otherwise $pattern begins $is', ({ pattern, search, is }) => expect(prefixes(pattern, search)).toEqual(is));

test('a tag that is not known ends what is known', () => {
  const { subject, span } = task;
  expect(prefixes('%requestId/%tag/%index', { subject: { ...subject, tag: undefined }, span, files: [] })).toEqual([
    'web/',
  ]);
  expect(prefixes('%requestId/%tag/%index', { subject: { ...subject, tag: '' }, span, files: [] })).toEqual(['web//']);
});

test('hours begin with the day in which the span does, the newest first', () => {
  const found = prefixes('%requestId/%m%d%H', request)!;
  expect(found[0]).toBe('web/020101');
  expect(found.at(-1)).toBe('web/013100');
  expect(found).toHaveLength(26);
});

test('a span of too many hours is gone through by days', () => {
  const found = prefixes('%requestId/%m%d/%H/%filename', searchFor('web', { hours: 2_000 }))!;
  expect(found).toHaveLength(85);
  expect(found.at(-1)).toBe('web/0131/');
});

test('but not where the request stands behind the hours: that would find the logs of all', () => {
  expect(prefixes('%m%d/%H/%requestId', searchFor('web', { hours: 2_000 }))).toBeUndefined();
  expect(prefixes('%m%d/%H/%taskId', searchFor('web', { hours: 2_000 }))).toBeUndefined();
});

test.each(['%requestId/%Y', '%requestId', standardPattern])('an empty span has no places in %s', (pattern) => {
  expect(prefixes(pattern, searchFor('web', { hours: -1 }))).toEqual([]);
});

test.each([
  { owner: 'web', key: idOf('web', 'd1'), is: true },
  { owner: 'web', key: idOf('web-api', 'd1'), is: false },
  { owner: 'web-api', key: idOf('web-api', 'd1'), is: true },
  { owner: 'web', key: idOf('web-1', '2'), is: false },
  { owner: 'web', key: `web-${idOf('x', 'd1')}`, is: false },
  { owner: 'web', key: 'web-readme.txt', is: false },
  { owner: 'web', key: 'web-api/x-1769898600000-1-x', is: false },
  { owner: idOf('web', 'd1').slice(0, -2), key: `${idOf('web', 'd1')}_0-1769898600000-2026-10`, is: false },
])('a key with $key is of request $owner: $is', ({ owner, key, is }) => {
  const { subject, span } = searchFor(owner);
  const place = keyPrefixes('logs/%taskId-%filename', subject, span)![0]!;
  expect(isOwn(`logs/${key}-x.log`, place, subject.owner)).toBe(is);
});

test('a key of deploy 2 of request a is not one of request a-2, and the other way round', () => {
  const ofDeploy = searchFor('a', { deployId: '2' });
  const ofRequest = searchFor('a-2');
  const owns = ({ subject, span }: typeof ofDeploy, key: string): boolean =>
    isOwn(key, keyPrefixes('%taskId', subject, span)![0]!, subject.owner);
  expect([owns(ofDeploy, idOf('a', '2')), owns(ofRequest, idOf('a', '2'))]).toEqual([true, false]);
  expect([owns(ofDeploy, idOf('a-2', 'd')), owns(ofRequest, idOf('a-2', 'd'))]).toEqual([false, true]);
});
