import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { SettingsFile } from '../../src/platform/settings/settings.js';

type Schema = {
  type?: string;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  default?: unknown;
  description?: string;
};

const kind = ({ type, enum: values, items }: Schema): string =>
  values
    ? values.map((value) => `\`${String(value)}\``).join(', ')
    : items
      ? `list of ${kind(items)}`
      : (type ?? 'any');

const rowsOf = (schema: Schema, path = ''): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = `${path}${key}`;
    if (inner.properties) return rowsOf(inner, `${name}.`);
    const value = inner.default === undefined ? 'none' : `\`${JSON.stringify(inner.default)}\``;
    return [`| \`${name}\` | ${kind(inner)} | ${value} | ${inner.description ?? ''} |`];
  });

const schema = z.toJSONSchema(SettingsFile, { io: 'input', unrepresentable: 'any' }) as Schema;

test('every setting says what it means', () => {
  expect(rowsOf(schema).filter((row) => row.endsWith('|  |'))).toEqual([]);
});

/** `npx vitest run test/docs -u` writes the page anew. */
test('docs/settings.md lists every setting', async () => {
  const page = [
    '# Settings file',
    '',
    'YAML or JSON, named by `MUSTER_CONFIG`. A key with a dot stands in a section: `cluster.defaultCpus` is key `defaultCpus` of',
    'section `cluster`. Unknown keys and wrong values are refused at the start, all at once and by name.',
    '',
    '| key | type | default | meaning |',
    '| --- | --- | --- | --- |',
    ...rowsOf(schema),
    '',
  ].join('\n');
  const file = new URL('../../docs/settings.md', import.meta.url).pathname;
  const options = await resolveConfig(file);
  await expect(await format(page, { ...options, parser: 'markdown' })).toMatchFileSnapshot(file);
});
