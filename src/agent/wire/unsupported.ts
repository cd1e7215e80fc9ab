import type { ClusterArtifact, EmbeddedArtifact, ExecutorData, ExternalArtifact } from '../../core/model/deploy.js';

/** One thing in a launch that this agent cannot do. `field` is a dotted path; `message` goes on where its name ends. */
export interface Unsupported {
  field: string;
  message: string;
}

const shellName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const downloadable = /^(https?:\/\/|file:\/\/|\/)/i;

/** Tasks start through a shell, which drops variables whose names it cannot say. */
export function unsupportedVariables(field: string, env: Record<string, string> | undefined): Unsupported[] {
  return Object.keys(env ?? {}).flatMap((name) => {
    if (!shellName.test(name))
      return [
        {
          field: `${field}.${name}`,
          message: 'must have a name of letters, digits and "_" that does not begin with a digit',
        },
      ];
    return env?.[name]?.includes('\0')
      ? [{ field: `${field}.${name}`, message: 'must not contain a NUL character' }]
      : [];
  });
}

export function unsupportedDownloads(field: string, artifacts: readonly ClusterArtifact[] | undefined): Unsupported[] {
  return (artifacts ?? []).flatMap((artifact, index) =>
    downloadable.test(artifact.uri)
      ? []
      : [
          {
            field: `${field}[${index}].uri`,
            message: 'must be an http, https or file URL, or an absolute path',
          },
        ],
  );
}

export function unsupportedExecutorFields(data: ExecutorData): Unsupported[] {
  const refused: [boolean, string, string][] = [
    [
      isGiven(data.objstoreArtifacts),
      'objstoreArtifacts',
      'cannot be used with the local driver, which has no object store',
    ],
    [
      isGiven(data.objstoreArtifactSignatures),
      'objstoreArtifactSignatures',
      'cannot be used with the local driver, which checks no signatures',
    ],
    [data.loggingTag !== undefined, 'loggingTag', 'cannot be used with the local driver, which has no log watcher'],
    [
      isGiven(Object.keys(data.loggingExtraFields ?? {})),
      'loggingExtraFields',
      'cannot be used with the local driver, which has no log watcher',
    ],
    [
      data.logrotateFrequency !== undefined,
      'logrotateFrequency',
      'cannot be used with the local driver, which does not rotate logs',
    ],
  ];
  return [
    ...refused.filter(([holds]) => holds).map(([, field, message]) => ({ field, message })),
    ...(data.embeddedArtifacts ?? []).flatMap(unsupportedEmbedded),
    ...(data.externalArtifacts ?? []).flatMap(unsupportedExternal),
  ];
}

function unsupportedEmbedded(artifact: EmbeddedArtifact, index: number): Unsupported[] {
  return unsupportedPlace(`embeddedArtifacts[${index}]`, artifact);
}

function unsupportedExternal(artifact: ExternalArtifact, index: number): Unsupported[] {
  const field = `externalArtifacts[${index}]`;
  const problems = unsupportedPlace(field, artifact);
  if (!artifact.url || !downloadable.test(artifact.url))
    problems.push({ field: `${field}.url`, message: 'must be an http, https or file URL, or an absolute path' });
  if (artifact.isArtifactList)
    problems.push({
      field: `${field}.isArtifactList`,
      message: 'cannot be used with the local driver, which reads no artifact lists',
    });
  return problems;
}

/** A file goes to a name inside the task's folder and nowhere else. */
function unsupportedPlace(
  field: string,
  artifact: { filename?: string; targetFolderRelativeToTask?: string },
): Unsupported[] {
  const problems: Unsupported[] = [];
  if (!artifact.filename || !staysInside(artifact.filename))
    problems.push({ field: `${field}.filename`, message: "must be a relative path without '..'" });
  // An absolute target folder is allowed: the task's folder is used in its place, and executor.log says so.
  const target = artifact.targetFolderRelativeToTask ?? '';
  if (!target.startsWith('/') && !staysInside(target))
    problems.push({ field: `${field}.targetFolderRelativeToTask`, message: "must be a relative path without '..'" });
  return problems;
}

export const staysInside = (path: string): boolean =>
  !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..');

const isGiven = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) > 0;
