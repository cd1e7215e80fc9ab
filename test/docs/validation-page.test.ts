import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SettingsFile } from '../../src/platform/settings/settings.js';

const page = readFileSync(new URL('../../docs/validation.md', import.meta.url), 'utf8');
const defaults: unknown = SettingsFile.parse({});
const optional = new Set(Object.keys(SettingsFile.shape));

/** The rows of its tables that name a setting: its name and its default. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| -+ \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map((cells): [string, string] => [cells[3] ?? '', cells[4] ?? ''])
  .filter(([setting]) => setting.startsWith('`'))
  .map(([setting, value]): [string, string] => [setting.replaceAll('`', ''), value.replaceAll('`', '')]);

const at = (path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], defaults);

describe('docs/validation.md', () => {
  test('names the settings of limits', () => expect(rows.length).toBeGreaterThan(35));

  test.each(rows)('%s is a setting, and its default is %s', (setting, shown) => {
    const value = at(setting);
    if (shown === 'none') expect([optional.has(setting), value]).toEqual([true, undefined]);
    else expect(JSON.stringify(value)).toBe(shown);
  });
});
