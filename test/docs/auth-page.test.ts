import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { authModes } from '../../src/core/authorization/index.js';
import { authenticatorNames } from '../../src/platform/settings/auth-settings.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';

const page = readFileSync(new URL('../../docs/auth.md', import.meta.url), 'utf8');

test('every settings file on the page is accepted', () => {
  const files = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect(SettingsFile.safeParse(parse(file)).error?.issues, file).toBeUndefined();
});

test('every way to prove who calls and every mode is described', () => {
  for (const name of [...authenticatorNames, ...authModes]) expect(page).toContain(`\`${name}\``);
});

test('every setting that it names exists', () => {
  const defaults = SettingsFile.parse({}) as Record<string, unknown>;
  const named = [...page.matchAll(/`(auth|ldap|ui|webhookAuth)\.([\w.]+)/g)].map(
    ([, section, path]) => `${section}.${path}`,
  );
  const shapes: Record<string, unknown> = SettingsFile.shape;
  expect(named.length).toBeGreaterThan(15);
  const unknown = named.filter((name) => {
    const [section, ...path] = name.split('.') as [string, ...string[]];
    let shape = inner(shapes[section]);
    for (const part of path) {
      if (!shape || !(part in shape)) return true;
      shape = inner(shape[part]);
    }
    return false;
  });
  expect(unknown).toEqual([]);
  expect(defaults).toHaveProperty('auth.enabled', false);
});

/** The members of a section, through what gives it its default. */
function inner(schema: unknown): Record<string, unknown> | undefined {
  const known = schema as { shape?: Record<string, unknown>; def?: { innerType?: unknown } } | undefined;
  return known?.shape ?? (known?.def?.innerType ? inner(known.def.innerType) : undefined);
}
