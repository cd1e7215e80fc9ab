import { type ChildProcess, spawn } from 'node:child_process';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { LaunchSpec } from '../../core/model/launch.js';
import { bytesOfMb } from '../cgroups/group-files.js';
import { sandboxVariable } from '../machine/processes.js';
import type { RunAs } from '../machine/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import type { LocalClusterSettings } from '../settings.js';
import { DeployFault, type FetchAnswer, type FetchLimits, type FetchOrder } from './order.js';

/** Words after `node` that start the program. */
export const fetchProgram: readonly string[] = [fileURLToPath(new URL('./fetch-main.js', import.meta.url))];

interface Fetch {
  spec: LaunchSpec;
  sandbox: Sandbox;
  runAs: RunAs | undefined;
  settings: LocalClusterSettings;
  searchPath: string;
  program: readonly string[];
  /** Its abort ends the program with all that it has started. */
  signal: AbortSignal;
}

/** Puts the files that come with the deploy into the sandbox. Throws DeployFault when they cannot be had. */
export async function fetchArtifacts(fetch: Fetch): Promise<void> {
  const order = orderOf(fetch);
  const isNothing = order.downloads.length === 0 && !order.executor;
  if (isNothing) return;
  const { fault, trouble } = await ask(order, fetch);
  fetch.signal.throwIfAborted();
  if (fault !== undefined) throw new DeployFault(fault);
  if (trouble !== undefined) throw new Error(trouble);
}

function orderOf({ spec, sandbox, runAs, settings }: Fetch): FetchOrder {
  const { embeddedArtifacts: embedded = [], externalArtifacts: external = [] } = spec.executorData ?? {};
  const { executor } = sandbox;
  const hasOwn = executor && embedded.length + external.length > 0;
  return {
    root: sandbox.root,
    user: runAs && { uid: runAs.uid, gid: runAs.gid },
    downloads: spec.artifacts,
    executor: hasOwn ? { folder: executor.folder, log: executor.executorLog, embedded, external } : undefined,
    limits: limitsOf(spec, settings),
  };
}

function limitsOf(spec: LaunchSpec, settings: LocalClusterSettings): FetchLimits {
  const total = settings.maxTaskArtifactMegabytes;
  return {
    artifactBytes: bytesOfMb(settings.maxArtifactMegabytes),
    totalBytes: bytesOfMb(spec.diskMb > 0 ? Math.min(spec.diskMb, total) : total),
    files: settings.maxArtifactFiles,
    seconds: settings.artifactTimeoutSeconds,
    allowedPaths: settings.allowedArtifactPaths,
  };
}

async function ask(order: FetchOrder, fetch: Fetch): Promise<FetchAnswer> {
  const child = start(fetch);
  const end = () => {
    if (child.exitCode === null && child.signalCode === null) endGroup(child);
  };
  fetch.signal.addEventListener('abort', end);
  try {
    if (fetch.signal.aborted) end();
    child.stdin!.on('error', () => undefined).write(`${JSON.stringify(order)}\n`);
    const [answer, complaint] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
    if (answer.endsWith('\n')) return JSON.parse(answer) as FetchAnswer;
    return { trouble: `The program that fetches files ended early: ${complaint.slice(-1_000)}` };
  } finally {
    fetch.signal.removeEventListener('abort', end);
    end();
  }
}

/** Certificates that the operator added are trusted here, too. */
const passedOn = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];

/** Starts as the agent's user, for it may be the only one that can read Node; changes to the task's before it does anything. */
function start({ sandbox, runAs, searchPath, program }: Fetch): ChildProcess {
  const given = passedOn.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const [changeUser = ''] = runAs?.prefix ?? [];
  const noMoreRights = basename(changeUser) === 'setpriv' ? [changeUser, '--no-new-privs', '--'] : [];
  const [first = '', ...words] = [...noMoreRights, process.execPath, ...program];
  const child = spawn(first, words, {
    cwd: '/',
    // What io_uring does is not done as the user that a process has become.
    // The mark by which it is found and ended with the task, should the agent end before.
    env: {
      UV_USE_IO_URING: '0',
      PATH: searchPath,
      HOME: '/',
      [sandboxVariable]: sandbox.root,
      ...(Object.fromEntries(given) as object),
    },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.on('error', () => undefined);
  return child;
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has gone.
  }
}
