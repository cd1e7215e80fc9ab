import { basename, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  ClusterArtifact,
  EmbeddedArtifact,
  ExecutorData,
  ExternalArtifact,
  ObjstoreArtifact,
} from '../../core/model/deploy.js';
import { isBelow, staysInside } from '../../core/files/paths.js';

/** One thing in a launch that this agent cannot do. `field` is a dotted path; `message` goes on where its name ends. */
export interface UnsupportedField {
  field: string;
  message: string;
}

/** Nothing that a program on the way to the task could take for its own, such as a function of a shell. */
const variableName = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const downloadable = /^(https?:\/\/|file:\/\/|\/)/i;

export function unsupportedVariables(field: string, env: Record<string, string> | undefined): UnsupportedField[] {
  return Object.keys(env ?? {}).flatMap((name) => {
    if (!variableName.test(name))
      return [
        {
          field: `${field}.${name}`,
          message: 'must have a name of letters, digits, "_", "." and "-" that begins with a letter or "_"',
        },
      ];
    return env?.[name]?.includes('\0')
      ? [{ field: `${field}.${name}`, message: 'must not contain a NUL character' }]
      : [];
  });
}

/** Engines read variables from a file, line by line, and only so much of each. */
const longestLineBytes = 60_000;

export const unsupportedInContainer = (field: string, env: Record<string, string> | undefined): UnsupportedField[] =>
  Object.entries(env ?? {}).flatMap(([name, value = '']) => {
    const problem = (message: string) => [{ field: `${field}.${name}`, message }];
    if (/[\r\n]/.test(value)) return problem('must be one line for a container');
    return Buffer.byteLength(value) > longestLineBytes
      ? problem(`must have at most ${longestLineBytes} bytes for a container`)
      : [];
  });

/** undefined: the directories from which files may be copied are not known here, and not asked for. */
export function unsupportedDownloads(
  field: string,
  artifacts: readonly ClusterArtifact[] | undefined,
  allowedPaths?: readonly string[],
): UnsupportedField[] {
  return (artifacts ?? []).flatMap(({ uri, outputFile }, index) => {
    const problems = unsupportedSource(`${field}[${index}].uri`, uri, allowedPaths);
    const isNamed = outputFile === undefined ? problems.length > 0 || fileNameOf(uri) : isFileName(outputFile);
    if (isNamed) return problems;
    const message =
      outputFile === undefined
        ? 'must be given where the uri ends without a file name'
        : "must be the relative path of a file, without '..'";
    return [...problems, { field: `${field}[${index}].outputFile`, message }];
  });
}

/** The last part of the path. A name in a URL may be percent-encoded. */
export function fileNameOf(uri: string): string | undefined {
  const isUrl = /^[a-z]+:\/\//i.test(uri);
  if (isUrl && !URL.canParse(uri)) return undefined;
  const name = basename(isUrl ? decoded(new URL(uri).pathname) : uri);
  return ['', '.', '..'].includes(name) ? undefined : name;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function unsupportedSource(
  field: string,
  source: string | undefined,
  allowedPaths?: readonly string[],
): UnsupportedField[] {
  if (!source || !downloadable.test(source) || (!source.startsWith('/') && !URL.canParse(source)))
    return [{ field, message: 'must be an http, https or file URL, or an absolute path' }];
  if (/^https?:/i.test(source) || !allowedPaths) return [];
  const path = pathOfSource(source);
  if (path !== undefined && allowedPaths.some((directory) => isBelow(path, normalize(directory)))) return [];
  return [{ field, message: 'must lie below a folder that the setting cluster.local.allowedArtifactPaths names' }];
}

/** undefined: a URL of another host, or one that is no path. */
function pathOfSource(source: string): string | undefined {
  if (source.startsWith('/')) return normalize(source);
  try {
    return normalize(fileURLToPath(source));
  } catch {
    return undefined;
  }
}

/** Known settings of the agent; undefined: a setting is not known here, and not asked for. */
interface KnownSettings {
  allowedPaths?: readonly string[];
  hasArtifactStore?: boolean;
}

/** Each may be a file to hold open. */
const mostRemoteArtifacts = 1_000;

export function unsupportedExecutorFields(
  data: ExecutorData,
  { allowedPaths, hasArtifactStore }: KnownSettings = {},
): UnsupportedField[] {
  const noStore = 'needs an object store, which the setting cluster.local.artifactStore names';
  const { objstoreArtifacts = [], objstoreArtifactSignatures = [], externalArtifacts = [] } = data;
  const remote = objstoreArtifacts.length + objstoreArtifactSignatures.length + externalArtifacts.length;
  const refused: [boolean, string, string][] = [
    [hasArtifactStore === false && isGiven(objstoreArtifacts), 'objstoreArtifacts', noStore],
    [hasArtifactStore === false && isGiven(objstoreArtifactSignatures), 'objstoreArtifactSignatures', noStore],
    [
      remote > mostRemoteArtifacts,
      'externalArtifacts',
      `may be ${mostRemoteArtifacts} at most, together with objstoreArtifacts and their signatures`,
    ],
  ];
  return [
    ...refused.filter(([holds]) => holds).map(([, field, message]) => ({ field, message })),
    ...(data.embeddedArtifacts ?? []).flatMap(unsupportedEmbedded),
    ...externalArtifacts.flatMap((artifact, index) => unsupportedExternal(artifact, index, allowedPaths)),
    ...(hasArtifactStore === false
      ? []
      : [
          ...objstoreArtifacts.flatMap((artifact, index) => unsupportedStored(`objstoreArtifacts[${index}]`, artifact)),
          ...objstoreArtifactSignatures.flatMap((artifact, index) =>
            unsupportedStored(`objstoreArtifactSignatures[${index}]`, artifact),
          ),
        ]),
  ];
}

function unsupportedEmbedded(artifact: EmbeddedArtifact, index: number): UnsupportedField[] {
  return unsupportedPlace(`embeddedArtifacts[${index}]`, artifact);
}

function unsupportedExternal(
  artifact: ExternalArtifact,
  index: number,
  allowedPaths?: readonly string[],
): UnsupportedField[] {
  const field = `externalArtifacts[${index}]`;
  return [...unsupportedPlace(field, artifact), ...unsupportedSource(`${field}.url`, artifact.url, allowedPaths)];
}

function unsupportedStored(field: string, artifact: ObjstoreArtifact): UnsupportedField[] {
  const missing = (['objstoreBucket', 'objstoreObjectKey'] as const).filter((name) => !artifact[name]);
  return [
    ...unsupportedPlace(field, artifact),
    ...missing.map((name) => ({ field: `${field}.${name}`, message: 'must be given' })),
  ];
}

/** A file goes to a name inside the task's directory and nowhere else. */
function unsupportedPlace(
  field: string,
  artifact: { filename?: string; targetFolderRelativeToTask?: string },
): UnsupportedField[] {
  const problems: UnsupportedField[] = [];
  if (!artifact.filename || !isFileName(artifact.filename))
    problems.push({ field: `${field}.filename`, message: "must be the relative path of a file, without '..'" });
  // An absolute target directory is allowed: the task's directory is used in its place, and executor.log says so.
  const target = artifact.targetFolderRelativeToTask ?? '';
  if (!target.startsWith('/') && !staysInside(target))
    problems.push({ field: `${field}.targetFolderRelativeToTask`, message: "must be a relative path without '..'" });
  return problems;
}

const isFileName = (path: string): boolean => staysInside(path) && !['', '.'].includes(path.split('/').at(-1) ?? '');

const isGiven = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) > 0;
