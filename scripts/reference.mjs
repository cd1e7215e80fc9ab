import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMap, isScalar, parseDocument } from 'yaml';

/**
 * `node scripts/reference.mjs` writes the pages of docs/ that are made of the built product: docs/job-specification.md of the document
 * that it serves, docs/command-line.md of the help of its commands, docs/command-line-and-dashboard.md of the calls that both make,
 * docs/chart-values.md of the values of the chart. Tests compare them with what the product says.
 */
const root = new URL('..', import.meta.url);
const pages = {
  jobs: 'docs/job-specification.md',
  commands: 'docs/command-line.md',
  changes: 'docs/command-line-and-dashboard.md',
  values: 'docs/chart-values.md',
};

/** Records that people write, each with those that it holds after it. */
const roots = [
  ['RequestDto', 'A request says what should run: its type, how often or in how many instances, and where.'],
  ['DeployRequestDto', 'A deploy as it is sent, or written in a file: the version itself, and what goes with it.'],
  ['RunNowRequestDto', 'A run of a SCHEDULED or ON_DEMAND request, with what it changes about its deploy.'],
];

const intro = `# Job specification

_Made of the served document by \`node scripts/reference.mjs\`._

Every field of a request, a deploy and a run: the documents that \`muster apply\` reads, and the bodies of \`POST /api/requests\`,
\`POST /api/deploys\` and \`POST /api/requests/request/{requestId}/run\`. [Write your first job](first-job.md) shows them at work,
[what a task gets](task-environment.md) says what a task finds at its start, and [validation](validation.md) has the rules between fields.
A small service:

\`\`\`yaml
id: web
requestType: SERVICE
instances: 3
---
deploy:
  requestId: web
  command: exec my-server --port $PORT
  resources: { cpus: 0.5, memoryMb: 256, numPorts: 1 }
  healthcheck: { uri: /health }
\`\`\`

- A field that is not known is refused by the command line, and by the API with \`Prefer: handling=strict\`; without it, the API names it in
  the header \`Warning\`.
- Milliseconds and seconds are whole numbers; a time is in epoch milliseconds.
- _Default_: the value of a field that is left out. A setting is named with the value that it has by itself; [settings](settings.md).
- _Since_: empty where every version of the API has the field; \`1.5\` and \`Muster\`: older clients do not know it.
`;

/** @param {{ components: { schemas: Record<string, any> } }} document as the service serves it */
export function jobSpecification({ components: { schemas } }) {
  const records = [];
  const visit = (name, text) => {
    if (records.some((record) => record.name === name)) return;
    records.push({ name, text });
    for (const member of Object.values(schemas[name].properties)) {
      for (const held of recordsIn(member, schemas)) visit(held);
    }
  };
  for (const [name, text] of roots) visit(name, text);
  const sections = records.map(({ name, text }) => {
    const { properties, required = [] } = schemas[name];
    const about = text ?? usesOf(name, records, schemas);
    return `## ${titleOf(name)}\n\n${about}\n\n${table(properties, required, schemas)}`;
  });
  return `${intro}\n${sections.join('\n')}`;
}

/** Names of the records that a member holds, in lists and maps too. */
function recordsIn(member, schemas) {
  const names = [...JSON.stringify(member).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  return names.filter((name) => schemas[name].properties);
}

const titleOf = (name) => name.replace(/Dto$/, '');
const linkTo = (name) => `[${titleOf(name)}](#${titleOf(name).toLowerCase()})`;

function usesOf(name, records, schemas) {
  const uses = records.flatMap((record) =>
    Object.entries(schemas[record.name].properties)
      .filter(([, member]) => recordsIn(member, schemas).includes(name))
      .map(([field]) => `\`${titleOf(record.name)}.${field}\``),
  );
  return `In ${uses.join(', ')}.`;
}

function table(properties, required, schemas) {
  const rows = Object.entries(properties).map(([name, member]) => {
    const { text, byDefault, since } = readDescription(member);
    const absent = required.includes(name)
      ? '**required**'
      : (byDefault ?? (member.type === 'boolean' ? '`false`' : ''));
    return [`\`${name}\``, text, typeOf(member, name, schemas), absent, exampleOf(member, schemas), since];
  });
  const lines = [['field', 'meaning', 'type and limits', 'default', 'example', 'since'], Array(6).fill('---'), ...rows];
  return `${lines.map((cells) => `| ${cells.map(escapeCell).join(' | ')} |`).join('\n')}\n`;
}

const escapeCell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A description says the default at its end, and what is later than older clients know. */
function readDescription({ description = '', 'x-since': since = '' }) {
  const [, text, byDefault] = /^(.*?)(?: ?Default: (.*?)\.)?$/.exec(
    description.replaceAll('\n', ' ').replace(/ ?An addition of .*?\.$/, ''),
  );
  return {
    text: quoteSettings(text.trim()),
    byDefault:
      byDefault === undefined ? undefined : quoteSettings(byDefault.replace(/^[A-Z0-9.]+$|^(true|false)$/, '`$&`')),
    since: since === 'muster' ? 'Muster' : since,
  };
}

const quoteSettings = (text) =>
  text.replaceAll(
    /(?<=\bsettings? |, |and )((?:\w+\.)*[a-z]+[A-Z]\w*|[a-z]+\.\w+(?:\.\w+)*)(?= \(|$|[,)]| is\b)/g,
    '`$1`',
  );

const units = [
  [/^(timestamp|runAt)$/, ' of epoch milliseconds'],
  [/(Millis|Ms)$/, ' of milliseconds'],
  [/Seconds$/, ' of seconds'],
  [/Mb$/, ' of MB'],
  [/Bytes$|^filesize$/, ' of bytes'],
];
const number = (value) => value.toLocaleString('en-US', { maximumFractionDigits: 20 });

function typeOf(member, name, schemas) {
  const reference = member.$ref ?? member.allOf?.[0].$ref;
  if (reference) {
    const record = reference.split('/').at(-1);
    return schemas[record].properties ? linkTo(record) : typeOf(schemas[record], name, schemas);
  }
  if (member.enum) return member.enum.map((word) => `\`${word}\``).join(', ');
  if (member.type === 'boolean') return 'true or false';
  if (member.type === 'array') {
    return `list of at most ${number(member.maxItems)}: ${typeOf(member.items, '', schemas)}`;
  }
  if (member.type === 'integer' || member.type === 'number') {
    const unit = units.find(([names]) => names.test(name))?.[1] ?? '';
    const { minimum, maximum } = member;
    return `${member.type === 'integer' ? 'whole number' : 'number'}${unit}, ${number(minimum)} to ${number(maximum)}`;
  }
  if (member.type === 'object') {
    const { additionalProperties: of } = member;
    return of === true ? 'any object' : `map of names to ${typeOf(of, '', schemas)}`;
  }
  const pattern = member.pattern ? `, \`${member.pattern}\`` : '';
  return `text of at most ${number(member.maxLength)} characters${pattern}`;
}

function exampleOf(member, schemas) {
  const reference = member.$ref ?? member.allOf?.[0].$ref;
  const words = member.enum ?? (reference && schemas[reference.split('/').at(-1)].enum);
  const value = member.example ?? words?.[0] ?? (member.type === 'boolean' ? true : undefined);
  if (value === undefined) return '';
  return `\`${typeof value === 'object' ? JSON.stringify(value) : value}\``;
}

/**
 * @param {string} all what `muster --help` prints
 * @param {(command: string) => string} helpOf what `muster <command> --help` prints
 */
export function commandReference(all, helpOf) {
  const topics = [...all.matchAll(/^(\S.*):\n((?: {2}\S.*\n(?: {3,}.*\n)*)+)/gm)].filter(
    ([, topic]) => topic !== 'Options',
  );
  const chapters = topics.map(([, topic, lines]) => {
    const names = [...lines.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name);
    const commands = names.map((name) => `### muster ${name}\n\n${block(helpOf(name))}`);
    return `## ${topic}\n\n${commands.join('\n')}`;
  });
  return `# Command line reference

_Made of the help of the commands by \`node scripts/reference.mjs\`._

What \`muster --help\` and \`muster <command> --help\` print. Servers, tokens, exit codes, output and files: [the command line](cli.md).

${chapters.join('\n')}`;
}

const block = (text) => `\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`;

/** Calls that change nothing, older names of others, and those of tests. */
const noChanges = /^(test\.|logs\.search$|\w+\.(plan|preview|check)|\w+\.\w+By(Old)?Path$)/;
const sourcesOf = (folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
    .map((name) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8'));

/** A member of the client is named, or one of the members that are written as texts beside. */
const calls = (sources, [group, name]) =>
  sources.some(
    (source) =>
      new RegExp(`\\.${group}\\s*\\.${name}\\b`).test(source) ||
      (source.includes(`api.${group}[`) && source.includes(`'${name}'`)),
  );

/** Every call that changes something, and who makes it; of the typed client, whose members both use. */
export function changesOf() {
  const client = readFileSync(new URL('packages/client/src/generated/operations.ts', root), 'utf8');
  const [places, boards] = [
    [...sourcesOf('src/cli'), ...sourcesOf('packages/client/src/helpers')],
    sourcesOf('packages/dashboard/src'),
  ];
  const groups = [...client.matchAll(/^ {2}readonly (\w+): \{\n([^]*?)^ {2}\};/gm)];
  return groups.flatMap(([, group, members]) =>
    [...members.matchAll(/\/\*\* ([^]*?)\*\/\s+readonly (\w+): Call<'(\w+)', '\/api\/([^']+)'/g)]
      .filter(([, , name, method]) => method !== 'GET' && !noChanges.test(`${group}.${name}`))
      .map(([, text, name, method, path]) => ({
        id: `${group}.${name}`,
        call: `${method} ${path}`,
        text: text
          .replaceAll(/\s*\n\s*\* ?/g, ' ')
          .split(/(?<=\.) /)[0]
          .trim(),
        commandLine: calls(places, [group, name]),
        dashboard: calls(boards, [group, name]),
      })),
  );
}

export function changesPage() {
  const rows = changesOf().map(({ call, text, commandLine, dashboard }) =>
    [text, `\`${call}\``, commandLine ? 'yes' : 'by `call`', dashboard ? 'yes' : ''].map(escapeCell),
  );
  const lines = [['change', 'call below `/api`', 'command line', 'dashboard'], Array(4).fill('---'), ...rows];
  return `# Changes by command line and dashboard

_Made of their sources by \`node scripts/reference.mjs\`._

For people who choose between the two. The command line makes each of these calls: where it has no command for one, \`muster call\` makes it
by its method and path ([cli.md](cli.md#any-call)). What the dashboard leaves out is for programs and operators. \`muster apply\` sends a
request and its deploy in one call; the dashboard has a form for each.

${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`;
}

/** Values of the chart, with the comments before them: chapters are its maps, of which callers fill none as a whole. */
export function chartValues() {
  const { contents } = parseDocument(readFileSync(new URL('deploy/helm/muster/values.yaml', root), 'utf8'));
  const all = valuesBelow(contents, '');
  const titles = [...new Set(all.map(({ name }) => (name.includes('.') ? name.split('.')[0] : '')))];
  const chapters = titles
    .toSorted((a, b) => Number(a !== '') - Number(b !== ''))
    .map((title) => {
      const inside = all.filter(({ name }) => (title === '' ? !name.includes('.') : name.startsWith(`${title}.`)));
      const about = inside.filter(({ value, text }) => value === undefined && text !== '').map(({ text }) => text);
      const lines = inside
        .filter(({ value }) => value !== undefined)
        .map(({ name, value, text }) => `- \`${name}\` (\`${value}\`): ${text}`);
      return `## ${title || 'Schedulers and their pods'}\n\n${about.map((text) => `${text}\n\n`).join('')}${lines.join('\n')}\n`;
    });
  return `# Values of the chart

_Made of \`deploy/helm/muster/values.yaml\` by \`node scripts/reference.mjs\`._

For operators who install Muster with Helm ([kubernetes.md](kubernetes.md#install)). Each value with its default, and its meaning. A value that
does not fit \`values.schema.json\`, or that the chart does not know, is refused.

${chapters.join('\n')}`;
}

/** A value that is undefined is a map, whose values follow. */
function valuesBelow(map, path) {
  return map.items.flatMap(({ key, value }, index) => {
    const name = `${path}${key.value}`;
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? '';
    // A blank line parts the comment of the file from that of its first value.
    const text = comment
      .split(/\n\s*\n/)
      .at(-1)
      .replaceAll(/\s*\n\s*/g, ' ')
      .replaceAll(/\b(docs|deploy|examples)\/[\w./-]*\w/g, '`$&`')
      .trim();
    const isWhole = !isMap(value) || value.items.length === 0 || /^settings$|(^|\.)resources$/.test(name);
    if (!isWhole) return [{ name: `${name}.`, text }, ...valuesBelow(value, `${name}.`)];
    return [{ name, value: JSON.stringify(isScalar(value) ? value.value : value.toJSON()), text }];
  });
}

export function write() {
  const muster = (...words) =>
    execFileSync(process.execPath, [fileURLToPath(new URL('bin/muster.mjs', root)), ...words], { encoding: 'utf8' });
  const document = JSON.parse(readFileSync(new URL('dist/openapi.json', root), 'utf8'));
  writeFileSync(new URL(pages.jobs, root), jobSpecification(document));
  writeFileSync(
    new URL(pages.commands, root),
    commandReference(muster('--help'), (name) => muster(name, '--help')),
  );
  writeFileSync(new URL(pages.changes, root), changesPage());
  writeFileSync(new URL(pages.values, root), chartValues());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) write();
