import { isUtf8 } from 'node:buffer';
import type { ExecutorData, ObjstoreArtifact } from '../../core/model/deploy.js';
import { messageOf } from '../../platform/files.js';
import { legacyNames } from '../../platform/http/legacy-names.js';
import type { ArtifactSettings } from '../../platform/settings/artifact-settings.js';
import { ArtifactList } from '../wire/launch-spec.js';
import { unsupportedExecutorFields } from '../wire/unsupported.js';
import type { CachedFile, CacheRequest } from './cache.js';
import { DeployFault, type RemoteFile, type BucketObject } from './order.js';

/** Artifacts of a deploy, or of a list of artifacts. */
export type ArtifactSet = Pick<
  ExecutorData,
  'embeddedArtifacts' | 'externalArtifacts' | 'objstoreArtifacts' | 'objstoreArtifactSignatures'
>;

/** True if a task gets files: `uris`, or those of executorData. */
export const hasArtifacts = ({
  artifacts,
  executorData: set = {},
}: {
  artifacts: readonly unknown[];
  executorData?: ArtifactSet;
}): boolean =>
  [artifacts, set.embeddedArtifacts, set.externalArtifacts, set.objstoreArtifacts, set.objstoreArtifactSignatures].some(
    (list) => list !== undefined && list.length > 0,
  );

/** A file to fetch for the task's directory. */
export interface Remote extends RemoteFile {
  isArtifactList?: boolean;
  /** A signature of another one. */
  signs?: string;
  /** Entry of the agent's cache to take it from. Absent: the program of the task fetches it, straight to its target. */
  cacheRequest?: CacheRequest;
}

interface RemoteContext {
  settings: Pick<ArtifactSettings, 'artifactStore'>;
  section?: string;
}

export const localSection = 'cluster.local';

/** Files of the object store with their signatures, then those of other servers. */
export function remotesOf(set: ArtifactSet, context: RemoteContext): Remote[] {
  const { objstoreArtifacts = [], objstoreArtifactSignatures: signatures = [], externalArtifacts = [] } = set;
  const stored = (artifact: ObjstoreArtifact, signs?: string): Remote => ({
    ...placeOf(artifact),
    // A signature is signed by nothing: what it says is not acted on.
    isArtifactList: signs === undefined && artifact.isArtifactList,
    signs,
    cacheRequest: { ...factsOf(artifact), source: objectOf(artifact, context) },
  });
  const isInspected = ({ filename, isArtifactList }: RemoteFile & { isArtifactList?: boolean }) =>
    isArtifactList === true || signatures.some(({ artifactFilename }) => artifactFilename === filename);
  return [
    ...objstoreArtifacts.map((artifact) => stored(artifact)),
    ...signatures.map((signature) => stored(signature, signature.artifactFilename ?? '')),
    ...externalArtifacts.map((artifact): Remote => {
      const { url = '', md5sum } = artifact;
      // A file of this machine is read as the task's user, if nothing has to be known about it before.
      const isShared = Boolean(md5sum) && /^https?:/i.test(url);
      const cacheRequest = isShared || isInspected(artifact) ? { ...factsOf(artifact), source: { url } } : undefined;
      return { ...placeOf(artifact), url, cacheRequest };
    }),
  ];
}

const placeOf = ({ filename, filesize, md5sum, targetFolderRelativeToTask, isArtifactList }: Remote): Remote => ({
  filename,
  filesize,
  md5sum,
  targetFolderRelativeToTask,
  isArtifactList,
});

const factsOf = ({ filename = '', filesize, md5sum }: RemoteFile) => ({ name: filename, filesize, md5sum });

/** With those keys that the bucket needs and no others. */
function objectOf(
  { objstoreBucket: bucket = '', objstoreObjectKey: key = '' }: ObjstoreArtifact,
  { settings: { artifactStore }, section = localSection }: RemoteContext,
): BucketObject {
  if (!artifactStore) throw new DeployFault(`The agent has no object store for artifacts (${section}.artifactStore)`);
  const { objstoreBucketCredentials, ...store } = artifactStore;
  const own = Object.hasOwn(objstoreBucketCredentials, bucket) ? objstoreBucketCredentials[bucket] : undefined;
  return { bucket, key, store: { ...store, ...own } };
}

const longestList = 8 * 1024 * 1024;

/** Artifacts of all these lists. They are as untrusted as a deploy, and follow its rules. */
export async function listedArtifacts(
  lists: readonly { filename: string; file: CachedFile }[],
  allowedPaths: readonly string[],
): Promise<ArtifactSet> {
  const all: Required<ArtifactSet> = {
    embeddedArtifacts: [],
    externalArtifacts: [],
    objstoreArtifacts: [],
    objstoreArtifactSignatures: [],
  };
  for (const { filename, file } of lists) {
    const found = await readList(filename, file);
    all.embeddedArtifacts.push(...(found.embeddedArtifacts ?? []));
    all.externalArtifacts.push(...(found.externalArtifacts ?? []));
    all.objstoreArtifacts.push(...(found.objstoreArtifacts ?? []));
    all.objstoreArtifactSignatures.push(...(found.objstoreArtifactSignatures ?? []));
    const [problem] = unsupportedExecutorFields({ cmd: '', ...all }, { allowedPaths });
    if (problem) throw new DeployFault(`${filename}: ${problem.field} ${problem.message}`);
  }
  return all;
}

async function readList(filename: string, { handle }: CachedFile): Promise<ArtifactSet> {
  const { size } = await handle.stat();
  if (size > longestList) throw new DeployFault(`${filename}: is larger than a list of artifacts may be (8 MB)`);
  const { buffer } = await handle.read(Buffer.alloc(size), 0, size, 0);
  if (!isUtf8(buffer)) throw new DeployFault(`${filename}: is no list of artifacts: it is not in UTF-8`);
  const list = ArtifactList.safeParse(inOurWords(parsed(filename, buffer.toString('utf8'))));
  if (list.success) return list.data;
  const [issue] = list.error.issues;
  throw new DeployFault(`${filename}: is no list of artifacts: ${issue?.path.join('.')} ${issue?.message}`);
}

/** As the API reads a deploy: lists are written by older programs, too, which say null where there is nothing. */
function inOurWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOurWords);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [legacyNames[name] ?? name, inOurWords(member)]));
}

function parsed(filename: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DeployFault(`${filename}: is no list of artifacts: ${messageOf(cause)}`, { cause });
  }
}
