import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { killGroup, startProgram } from '../processes/order-program.js';
import { sandboxVariable } from '../processes/processes.js';
import type { RunAs } from '../processes/run-as.js';
import { DeployFault, type FetchResult, type FetchOrder } from './order.js';

/** Words after `node` that start the program which fetches and unpacks. */
export const fetchProgram: readonly string[] = [fileURLToPath(new URL('./fetch-main.js', import.meta.url))];

export interface Program {
  /** Words after `node`. */
  program: readonly string[];
  searchPath: string;
  runAs: RunAs | undefined;
  /** Files that the program has open from its beginning, under the numbers from `firstFile` on. */
  files?: readonly FileHandle[];
  /** Its abort ends the program with all that it has started. */
  signal: AbortSignal;
}

export const firstFile = 3;

/** Throws DeployFault when the files cannot be had. */
export async function carryOut(order: FetchOrder, program: Program): Promise<FetchResult> {
  const answer = await ask(order, program);
  program.signal.throwIfAborted();
  if (answer.fault !== undefined) throw new DeployFault(answer.fault, undefined, answer.reason);
  if (answer.trouble !== undefined) throw new Error(answer.trouble);
  return answer;
}

async function ask(order: FetchOrder, program: Program): Promise<FetchResult> {
  const child = start(order, program);
  const end = () => {
    if (child.exitCode === null && child.signalCode === null) killGroup(child.pid);
  };
  program.signal.addEventListener('abort', end);
  try {
    if (program.signal.aborted) end();
    const ended = once(child, 'close') as Promise<[number | null, string | null]>;
    const [answer, complaint, [code, signal]] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
    if (answer.endsWith('\n')) return JSON.parse(answer) as FetchResult;
    return { trouble: `The program that fetches files ended early (${signal ?? code}): ${complaint.slice(-1_000)}` };
  } finally {
    program.signal.removeEventListener('abort', end);
    end();
  }
}

/** Certificates that the operator added are trusted here, too. */
const passedOn = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];

function start(order: FetchOrder, { runAs, searchPath, program, files }: Program): ChildProcess {
  const given = passedOn.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  return startProgram(program, order, {
    prefix: runAs?.prefix,
    // The mark by which it is found and ended, should the agent end before.
    env: { PATH: searchPath, [sandboxVariable]: order.root, ...(Object.fromEntries(given) as object) },
    files: files?.map(({ fd }) => fd),
    complaints: 'pipe',
  });
}
