import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, lstatSync } from 'node:fs';
import { chown, copyFile, link, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ObjstoreArtifactSignature } from '../../core/model/deploy.js';
import type { ArtifactSettings } from '../../platform/settings/artifact-settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import type { TaskUsers } from '../users/task-users.js';
import { killGroup } from '../processes/order-program.js';
import { cleanEnvironment, type RunAs } from '../processes/run-as.js';
import { removeTree } from '../sandbox/remove-tree.js';
import type { CachedFile } from './cache.js';
import { DeployFault, type Note } from './order.js';
import type { Remote } from './remotes.js';

interface FetchedFile {
  remote: Remote;
  file?: CachedFile;
}

interface CheckContext {
  directory: Pick<AgentDirectory, 'newArtifacts'>;
  settings: ArtifactSettings;
  users: TaskUsers;
}

const outputFile = 'executor.gpg.out';
const logFile = 'executor.log';

/**
 * Looks at what was fetched before any of it is put anywhere. Each artifact of a name is compared with the first signature
 * for that name. Throws DeployFault where the settings say that a task fails for it; else there is a line in executor.log.
 */
export async function checkSignatures(
  context: CheckContext,
  fetched: readonly FetchedFile[],
  signatures: readonly ObjstoreArtifactSignature[],
  notes: Note[],
  signal: AbortSignal,
): Promise<void> {
  const { settings } = context;
  const artifacts = fetched.filter(({ remote }) => remote.signs === undefined);
  const complain = (isFault: boolean, text: string) => {
    if (isFault) throw new DeployFault(text);
    notes.push({ file: logFile, text });
  };
  for (const { artifactFilename = '' } of signatures)
    if (!artifacts.some(({ remote }) => remote.filename === artifactFilename))
      complain(
        settings.failOnSignatureWithNoMatchingArtifact,
        `${artifactFilename}: has a signature and is no artifact`,
      );
  for (const { remote, file } of artifacts) {
    const { filename = '' } = remote;
    const signature = fetched.find(({ remote: { signs } }) => signs === filename);
    if (!signature?.file || !file) {
      complain(settings.failOnArtifactWithNoMatchingSignature, `${filename}: has no signature`);
      continue;
    }
    const { output, problem } = await check(context, file, signature.file, signal);
    notes.push({ file: outputFile, text: `${signature.remote.filename} of ${filename}:\n${output}` });
    if (problem)
      complain(settings.failTaskOnInvalidArtifactSignature, `${filename}: its signature is not good (${problem})`);
  }
}

interface SignatureVerdict {
  output: string;
  /** Absent: the signature is good. */
  problem?: string;
}

/** The program is a user of its own, who has the public keys and can read these two files. */
async function check(
  context: CheckContext,
  artifact: CachedFile,
  signature: CachedFile,
  signal: AbortSignal,
): Promise<SignatureVerdict> {
  const { directory, settings, users } = context;
  const work = join(directory.newArtifacts, randomUUID());
  const runAs = await users.resolve(undefined, work);
  if (typeof runAs === 'string') throw new Error(runAs);
  const give = async (path: string) => {
    if (runAs) await chown(path, runAs.uid, runAs.gid);
  };
  try {
    const keys = join(work, 'keys');
    for (const made of [work, keys]) await mkdir(made, { mode: 0o700 });
    await copyKeys(settings.artifactSignatureKeys ?? join(homedir(), '.gnupg'), keys, give);
    // Links to what belongs to the agent and can only be read; gpg looks for the one beside the other.
    const paths = { artifact: join(work, 'artifact'), signature: join(work, 'artifact.sig') };
    await link(artifact.path, paths.artifact);
    await link(signature.path, paths.signature);
    for (const made of [keys, work]) await give(made);
    const words = settings.artifactSignatureVerificationCommand.map((word) =>
      word.replaceAll('{artifactSignaturePath}', paths.signature).replaceAll('{artifactPath}', paths.artifact),
    );
    return await run(words, { work, keys, runAs, signal });
  } finally {
    if (runAs?.own) await users.killAll(runAs);
    await removeTree(work);
    if (runAs) users.release(runAs);
  }
}

/** No private ones: nothing is signed here. */
const keyFiles = ['pubring.kbx', 'pubring.gpg', 'trustedkeys.kbx', 'trustedkeys.gpg', 'trustdb.gpg', 'gpg.conf'];

async function copyKeys(from: string, to: string, give: (path: string) => Promise<void>): Promise<void> {
  for (const name of keyFiles) {
    if (!lstatSync(join(from, name), { throwIfNoEntry: false })) continue;
    await copyFile(join(from, name), join(to, name), constants.COPYFILE_EXCL);
    await give(join(to, name));
  }
}

const mostOutput = 64 * 1024;
const mostKilobytesOfMemory = 2 * 1024 * 1024;
const blocksOfOutput = 100_000;
const limits = `ulimit -c 0; ulimit -v ${mostKilobytesOfMemory}; ulimit -f ${blocksOfOutput}; exec "$@"`;

interface VerifyContext {
  work: string;
  keys: string;
  runAs: RunAs | undefined;
  signal: AbortSignal;
}

function run(words: readonly string[], { work, keys, runAs, signal }: VerifyContext): Promise<SignatureVerdict> {
  const [program = '', ...rest] = [...(runAs?.prefix ?? []), '/bin/sh', '-c', limits, 'sh', ...words];
  signal.throwIfAborted();
  const child = spawn(program, rest, {
    cwd: work,
    env: { ...cleanEnvironment, HOME: work, GNUPGHOME: keys, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const end = () => killGroup(child.pid);
  signal.addEventListener('abort', end);
  let output = '';
  const hear = (text: Buffer) => (output = `${output}${text.toString()}`.slice(0, mostOutput));
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  return new Promise<SignatureVerdict>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killed) => {
      if (signal.aborted) reject(signal.reason as Error);
      else if (code === 126 || code === 127) reject(new Error(`${words[0]} cannot be run on this machine`));
      else resolve({ output, problem: code === 0 ? undefined : `${words[0]} ended with ${code ?? killed}` });
    });
  }).finally(() => signal.removeEventListener('abort', end));
}
