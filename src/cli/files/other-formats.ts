/** Files of other programs that are given to `muster apply`, by their first lines. */
const texts: readonly (readonly [RegExp, string])[] = [
  [/^\s*(?:(?:#|\/\/)[^\n]*\n\s*)*job\s+"[^"\n]*"\s*\{/, 'a Nomad job'],
  [/^\s*(?:[#;][^\n]*\n\s*)*\[(?:Unit|Service|Timer)\]\s*$/m, 'a systemd unit'],
  [/^\s*(?:#[^\n]*\n\s*|\w+=[^\n]*\n\s*)*(?:[\d*/,-]+[ \t]+){5}[\w/]/, 'a crontab'],
];

/** The format of a document that is none of Muster, with what it takes instead; undefined: none that is known. */
export function otherFormat(text: string, value?: unknown): string | undefined {
  const convertible = convertibleFormat(value);
  if (convertible !== undefined) {
    return `this looks like ${convertible}; make a request and a deploy of it with: muster import-from <file>`;
  }
  const format = texts.find(([pattern]) => pattern.test(text))?.[1] ?? formatOfMap(value);
  return format === undefined
    ? undefined
    : `this looks like ${format}; Muster takes requests (id, requestType, ...) and deploys (deploy: {...}): muster schema request`;
}

/** A format that `muster import-from` reads. */
function convertibleFormat(value: unknown): string | undefined {
  if (Array.isArray(value)) return convertibleFormat(value[0]);
  if (!isMap(value)) return undefined;
  const { kind, items, schedule, name } = value;
  if (kind === 'CronJob') return 'a CronJob of Kubernetes';
  if (kind === 'List' && Array.isArray(items)) return convertibleFormat(items);
  const isRepeated = typeof schedule === 'string' && /^R\d*\//.test(schedule);
  return typeof name === 'string' && isRepeated ? 'a job of Chronos' : undefined;
}

function formatOfMap(value: unknown): string | undefined {
  if (!isMap(value)) return undefined;
  const { apiVersion, kind, Job, services } = value;
  if (typeof apiVersion === 'string' && typeof kind === 'string')
    return `a manifest of Kubernetes (${kind.slice(0, 60)})`;
  if (isMap(Job)) return 'a Nomad job';
  if (isMap(services)) return 'a Compose file';
  return undefined;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
