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

interface Setting {
  name: string;
  /** Of what kind it is and what it is unless it is set. */
  facts: string;
  meaning: string;
}

const settingsOf = (schema: Schema, path = ''): Setting[] =>
  Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = `${path}${key}`;
    if (inner.properties) return settingsOf(inner, `${name}.`);
    const value = inner.default === undefined ? 'no default' : `default \`${JSON.stringify(inner.default)}\``;
    return [{ name, facts: `${kind(inner)}, ${value}`, meaning: inner.description ?? '' }];
  });

const schema = z.toJSONSchema(SettingsFile, { io: 'input', unrepresentable: 'any' }) as Schema;
const settings = settingsOf(schema);

/** Those without a section first, then each section as it stands in the schema. */
function sections(): [string, Setting[]][] {
  const found = new Map<string, Setting[]>([['', []]]);
  for (const setting of settings) {
    const section = setting.name.split('.').slice(0, -1).join('.');
    found.set(section, [...(found.get(section) ?? []), setting]);
  }
  return [...found];
}

test('every setting says what it means', () => {
  expect(settings.filter(({ meaning }) => !meaning)).toEqual([]);
});

/** Where to look for what. */
const topics = [
  ['How it is reached', '[http](#http)', '[cors](#cors)', '[ui](#ui)'],
  ['Who may do what', '[auth](#auth)', '[ldap](#ldap)', '[webhookAuth](#webhookauth)'],
  [
    'Machines and how tasks run on them',
    '[cluster](#cluster)',
    '[cluster.local](#clusterlocal)',
    '[network](#network)',
  ],
  ['Placement, deploys, health checks, jobs, limits', '[keys outside of sections](#keys-outside-of-sections)'],
  ['When things go wrong', '[crashLoop](#crashloop)', '[disasterDetection](#disasterdetection)'],
  ['What is kept', '[historyPurging](#historypurging)', '[objstore](#objstore)', '[logFolder](#logfolder)'],
  ['Who is told', '[webhooks](#webhooks)', '[smtp](#smtp)', '[events](#events)', '[log](#log)'],
];

/** `npx vitest run test/docs -u` writes the page anew. */
test('docs/settings.md lists every setting', async () => {
  const page = [
    '# Settings file',
    '',
    'YAML or JSON, named by `MUSTER_CONFIG`. A key with a dot stands in a section: `cluster.defaultCpus` is key `defaultCpus` of',
    'section `cluster`. Unknown keys and wrong values are refused at the start, all at once and by name.',
    '[examples/settings.yml](../examples/settings.yml) is a file to begin with.',
    '',
    ...topics.map(([topic, ...where]) => `- ${topic}: ${where.join(', ')}`),
    '',
    '## Keys outside of sections',
    '',
    ...sections().flatMap(([section, inside]) => [
      ...(section ? ['', `## ${section}`, ''] : []),
      ...inside.map(({ name, facts, meaning }) => `- \`${name}\` (${facts}): ${meaning}`),
    ]),
    '',
  ].join('\n');
  const file = new URL('../../docs/settings.md', import.meta.url).pathname;
  const options = await resolveConfig(file);
  await expect(await format(page, { ...options, parser: 'markdown' })).toMatchFileSnapshot(file);
});
