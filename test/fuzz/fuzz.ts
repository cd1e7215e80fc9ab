import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { waitFor } from '../support/wait-for.js';
import { Practice, practiceIds } from './practice.js';

export interface FuzzOptions {
  schemathesis: string;
  seconds: number;
  /** Repeats the calls of another run. */
  seed?: number;
  /** Is told what schemathesis prints. */
  print?: (text: string) => void;
}

export interface FuzzResult {
  /** Neither a 5xx nor an answer in another form than the document says. */
  passed: boolean;
  calls: number;
  /**
   * Number of changes of the requests to practise on after their creation: without any, nothing was tried in earnest.
   */
  changes: number;
  tasksBefore: string[];
  tasksAfter: string[];
  output: string;
}

const checks = ['not_a_server_error', 'response_schema_conformance', 'content_type_conformance'];
/** Paths that change everything, or that answer without end. */
const leftOut = '^/api/(events|disasters/(failover|disable|disabled-actions/.*|active/.*))$';
const machine = { cpus: 4, memoryMb: 4096, diskMb: 1024, ports: '30000-30039' };
/** Time that a run may take beyond what it was given: a last call, and the summary. */
const spareSeconds = 60;

/** Starts the product and a service on it, lets schemathesis call whatever it likes, and tells what became of both. */
export async function fuzz({ schemathesis, seconds, seed, print }: FuzzOptions): Promise<FuzzResult> {
  // These cannot be guessed, so no call can mean them.
  const secret = randomBytes(8).toString('hex');
  const slave = { id: `slave-${secret}`, hostname: 'localhost', rackId: `rack-${secret}`, ...machine };
  const installation = new Installation({ settings: { cluster: { local: { slaves: [slave] } } } });
  const folder = mkdtempSync(join(tmpdir(), 'muster-fuzz-'));
  try {
    const { api } = await installation.start();
    const tasksBefore = await deployKept(api, `kept-${secret}`);
    const practice = new Practice(api);
    await practice.restore();
    const practiceTask = await waitFor('a task to practise on', async () => {
      const { taskIds } = await api.request('practice-service');
      return taskIds?.healthy[0]?.id;
    });
    writeFileSync(join(folder, 'schemathesis.toml'), settingsOf({ taskId: practiceTask }));
    const args = ['--checks', checks.join(','), '--phases', 'coverage,fuzzing', '--continue-on-failure', '--no-color'];
    const limits = ['--max-time', String(seconds), ...(seed === undefined ? [] : ['--seed', String(seed)])];
    const document = `${api.url}/docs/openapi.json`;
    const command = ['run', document, '--exclude-path-regex', leftOut, ...args, ...limits];
    const { code, output } = await runProgram(schemathesis, command, {
      folder,
      seconds: seconds + spareSeconds,
      print,
    });
    practice.stop();
    const tasksAfter = (await api.activeTasks(`kept-${secret}`)).map((task) => task.taskId.id);
    const changes = (await practice.events()).filter((event) => event !== 'CREATED').length;
    return { passed: code === 0, calls: callsIn(output), changes, tasksBefore, tasksAfter, output };
  } finally {
    await installation.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The service that has to outlive it. Nothing is above its priority, so no freeze that kills can mean it. */
async function deployKept(api: Api, requestId: string): Promise<string[]> {
  await api.saveRequest({ id: requestId, requestType: 'SERVICE', instances: 3, taskPriorityLevel: 1 });
  const resources = { cpus: 0.1, memoryMb: 16, numPorts: 0, diskMb: 0 };
  await api.deploy({ requestId, id: 'kept', command: 'exec sleep 100000', resources });
  const ended = await api.deployEnded(requestId, 'kept');
  if (ended.deployResult?.deployState !== 'SUCCEEDED') throw new Error(JSON.stringify(ended.deployResult));
  return (await api.running(requestId, 3)).map((task) => task.taskId.id);
}

const callsIn = (output: string): number => Number(/(\d+) generated/.exec(output)?.[1] ?? 0);

/** Values that parameters are often given, so that most calls are about something that exists. */
function settingsOf({ taskId }: { taskId: string }): string {
  const words: Record<string, readonly string[]> = {
    requests: practiceIds,
    deploys: ['v1', 'v2', 'v3'],
    tasks: [taskId],
    commands: ['exec sleep 600', 'true', 'false'],
  };
  const given: Record<string, [dictionary: string, probability: number]> = {
    'path.requestId': ['requests', 0.7],
    'query.requestId': ['requests', 0.7],
    'path.deployId': ['deploys', 0.7],
    'path.taskId': ['tasks', 0.7],
    'body.id': ['requests', 0.3],
    'body.deploy.requestId': ['requests', 0.5],
    'body.deploy.command': ['commands', 1],
    'body.deploy.customExecutorCmd': ['commands', 1],
  };
  return [
    // Ids that an answer tells would be those of the service that no call may guess.
    '[phases.coverage]\nextra-data-sources.responses = false',
    '[phases.fuzzing]\nextra-data-sources.responses = false',
    ...Object.entries(words).map(([name, values]) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}`),
    '[parameters]',
    ...Object.entries(given).map(
      ([place, [dictionary, probability]]) =>
        `"${place}" = { dictionary = "${dictionary}", probability = ${probability} }`,
    ),
  ].join('\n');
}

interface ProgramOptions {
  folder: string;
  seconds: number;
  print?: (text: string) => void;
}

function runProgram(program: string, args: readonly string[], { folder, seconds, print }: ProgramOptions) {
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: seconds * 1_000 });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        print?.(text);
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
