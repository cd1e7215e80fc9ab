import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { longestText, mostMembers, mostRecords } from '../../src/platform/http/input-limits.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';

const page = readFileSync(new URL('../../docs/validation.md', import.meta.url), 'utf8');
const defaults: unknown = SettingsFile.parse({});
const optional = new Set(Object.keys(SettingsFile.shape));

/** Texts in brackets behind a rule: the name of a setting and its default. */
const rows = [...page.matchAll(/ \(`([\w.]+)`, default (?:`([^`]*)`|(none))\)/g)].map(
  ([, setting = '', value, none]): [string, string] => [setting, value ?? none ?? ''],
);

const at = (path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], defaults);

describe('docs/validation.md', () => {
  test('names the settings of limits', () => expect(rows.length).toBeGreaterThan(35));

  test.each(Object.entries(longestText))('tells how long a text may be that is a %s', (_kind, most) =>
    expect(page).toContain(`: at most ${most} characters`),
  );

  test.each([mostMembers, mostRecords])('tells that lists have at most %s members', (most) =>
    expect(page).toContain(`: at most ${most} members`),
  );

  test.each(rows)('%s is a setting, and its default is %s', (setting, shown) => {
    const value = at(setting);
    if (shown === 'none') expect([optional.has(setting), value]).toEqual([true, undefined]);
    else expect(JSON.stringify(value)).toBe(shown);
  });
});
