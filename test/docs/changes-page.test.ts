import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { changesOf, changesPage } from '../../scripts/reference.mjs';

const page = readFileSync(new URL('../../docs/command-line-and-dashboard.md', import.meta.url), 'utf8');

test('docs/command-line-and-dashboard.md tells who makes which call; node scripts/reference.mjs writes it', () =>
  expect(changesPage()).toBe(page));

test('what the command line changes, the dashboard changes, too', () => {
  const changes = changesOf();
  expect(changes.length).toBeGreaterThan(60);
  const alone = changes.filter(({ commandLine, dashboard }) => commandLine && !dashboard);
  // Of one request and one deploy: the dashboard has a form for each.
  expect(alone.map(({ id }) => id)).toEqual(['requests.apply']);
});
