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
  /** Kind and default of the setting. */
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

/** Settings without a section first, then each section as it stands in the schema. */
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

interface Topic {
  title: string;
  /** Keys outside of sections. */
  keys: RegExp;
  /** With the sections in them. */
  sections?: string[];
}
const topics: Topic[] = [
  {
    title: 'Network and pages',
    keys: /^(enableCors|legacyFieldNames|compatibility|maxRequestBody|allowTest)/,
    sections: ['http', 'cors', 'ui'],
  },
  { title: 'Authentication and authorization', keys: /^(audit|ldap)/, sections: ['auth', 'ldap', 'webhookAuth'] },
  {
    title: 'Machines',
    keys: /^(maxDecommissioning|maxMachine|reconcileSlaves|deleteDead|cleanInactive|commonHostname|(check|clean)Usage|numUsage|maxConcurrentUsage)/,
    sections: ['agent', 'cluster', 'network'],
  },
  {
    title: 'Placement',
    keys: /^(defaultSlavePlacement|reserve|preempt|preferred|high|reCheck|placement|expectedRacks|rebalance|allowBounce|spreadAll|checkAutoSpread|shuffle|minutesBefore|maxTasksToShuffle|doNotShuffle|pendingDeployHold)/,
  },
  {
    title: 'Requests and deploys',
    keys: /^(max(UserId|Record|Requests?(Id|Per)|PendingRun|RunId|Starred|DeployId|ScaleDown)|createDeploy|deploy|enforce|validDocker|allow(Requests|Deploy)|defaultDeploy|defaultBounce|defaultValueForKill|consider)/,
    sections: ['gates', 'prometheus'],
  },
  {
    title: 'Health checks',
    keys: /^(health|startup|maxHealth|maxConcurrentHealth|newTaskChecker|checkNewTasks|killTaskIfNot)/,
  },
  { title: 'Jobs', keys: /^(checkJobs|taskExecution|warnIf|cooldownMin|maxRunNow|maxActiveOnDemand)/ },
  {
    title: 'Tasks',
    keys: /^(hardKill|cpuHard|askDriver|kill(After|NonLong)|dispatchTask|runBeforeKill|max(Unfinished)?Shell|maxUnfinished|sandbox|(allowed|max)Metadata)/,
    sections: ['logFolder', 'taskMetadata'],
  },
  {
    title: 'Load balancer',
    keys: /^(loadBalancer|deleteRemoved|preResolve|skipDNS|taskLabelFor|checkUpstreams)/,
    sections: ['dns'],
  },
  { title: 'Priority', keys: /^(defaultTaskPriority|checkPriority|schedulerPriority)/ },
  { title: 'Failures and disasters', keys: /^deltaAfter/, sections: ['crashLoop', 'disasterDetection'] },
  {
    title: 'Retention',
    keys: /^(persistHistory|historyPoller|flowRetention|storeAll|sqlFallBack)/,
    sections: ['historyPurging', 'objstore'],
  },
  { title: 'Notifications', keys: /^check(Webhooks|QueuedMails)/, sections: ['webhooks', 'smtp', 'events', 'log'] },
  {
    title: 'Intervals of the leader',
    keys: /^(check(Scheduler|Deploys|Autoscale|Expiring|Reconcile)|cleanupEvery|startNewReconcile|reconcileLaunch|saveState)/,
    sections: ['leadership'],
  },
];

/** Parts below a topic: its keys, then each of its sections. */
const below = ({ keys, sections: names = [] }: Topic): [string, Setting[]][] =>
  sections().flatMap(([section, inside]): [string, Setting[]][] => {
    if (section === '') return [['', inside.filter(({ name }) => keys.test(name))]];
    return names.includes(section.split('.')[0]!) ? [[section, inside]] : [];
  });

test('every setting belongs to one topic', () => {
  const shown = topics.flatMap((topic) => below(topic).flatMap(([, inside]) => inside.map(({ name }) => name)));
  expect(shown.toSorted()).toEqual(settings.map(({ name }) => name).toSorted());
});

const anchor = (title: string): string => `#${title.toLowerCase().replaceAll(' ', '-')}`;

/** `npx vitest run test/docs -u` writes the page anew. */
test('docs/settings.md lists every setting', async () => {
  const page = [
    '# Settings file',
    '',
    'For operators: every key of the settings file, with its type, its default and its meaning.',
    '',
    'The file is YAML or JSON, and `MUSTER_CONFIG` names it. A key with a dot is in a section: `cluster.defaultCpus` is the key',
    '`defaultCpus` of the section `cluster`. With unknown keys or wrong values Muster does not start, and names all of them.',
    'Begin with [examples/settings.yml](../examples/settings.yml). A boolean key does what its text says if it is true.',
    '',
    ...topics.map(({ title }) => `- [${title}](${anchor(title)})`),
    ...topics.flatMap((topic) => [
      '',
      `## ${topic.title}`,
      ...below(topic).flatMap(([section, inside]) => [
        '',
        ...(section ? [`### ${section}`, ''] : []),
        ...inside.map(({ name, facts, meaning }) => `- \`${name}\` (${facts}): ${meaning}`),
      ]),
    ]),
    '',
  ].join('\n');
  const file = new URL('../../docs/settings.md', import.meta.url).pathname;
  const options = await resolveConfig(file);
  await expect(await format(page, { ...options, parser: 'markdown' })).toMatchFileSnapshot(file);
});
