import { join, relative } from 'node:path';
import { type ContainerInfo, imageOf } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import { fetchArtifacts, type FetchServices } from '../artifacts/fetch.js';
import { DeployFault } from '../artifacts/order.js';
import { messageOf, writeDurably } from '../../platform/files.js';
import { commandLine, type Option } from '../processes/command-line.js';
import { createFileBelow, makeDirectoryBelow, openLogBelow } from '../sandbox/below.js';
import { createSandbox, type Sandbox } from '../sandbox/sandbox-layout.js';
import { launcherLiteral, writeForUser } from '../shim/launcher.js';
import { type Shim, startShim } from '../shim/shim.js';
import type { TaskStart } from '../shim/start-task.js';
import type { TaskDirectory } from '../state/task-directory.js';
import {
  containerEnvironment,
  containerName,
  createWords,
  hasOtherUsers,
  workdirInSandbox,
} from './container-words.js';
import { askEngine, type Engine, engineEnvironment, EngineFailure, EngineTrouble, type EngineWatch } from './engine.js';
import { checkLines, linesOf } from './environment-file.js';
import { hostPathsOf } from './host-paths.js';
import { type Ask, imageReference, type Images, inspectImage } from './images.js';
import { containerProblems } from './rules.js';
import { endFile, endFormat, removal, TaskContainer } from './task-container.js';

/** Context in which tasks in containers are started. */
export interface ContainerContext extends AgentContext, FetchServices {
  engines: EngineWatch;
  images: Images;
}

export interface ContainerStart extends TaskStart {
  spec: LaunchSpec & { container: ContainerInfo };
  container: TaskContainer;
  /** Says what is being done. */
  say: (message: string) => void;
}

/** undefined: the task runs in none. */
export const containerOf = (
  context: ContainerContext,
  spec: LaunchSpec,
  { root }: Sandbox,
  directory: TaskDirectory,
): TaskContainer | undefined =>
  spec.container &&
  new TaskContainer(
    context,
    containerName(context.settings.containers.dockerPrefix, spec.taskId),
    root,
    directory,
    spec.killSignal,
  );

export function containerStart(
  start: TaskStart,
  container: TaskContainer | undefined,
  say: ContainerStart['say'],
): ContainerStart | undefined {
  const { container: info } = start.spec;
  return container && info && { ...start, spec: { ...start.spec, container: info }, container, say };
}

/** Pulls the image, prepares the sandbox, creates the container, and starts it under the shim of its task. */
export async function startContainer(context: ContainerContext, start: ContainerStart): Promise<Shim> {
  const { spec, directory, sandbox, runAs, signal, container } = start;
  const settings = context.settings.containers;
  const [problem] = containerProblems(spec.container, { isManaged: spec.executorData !== undefined, policy: settings });
  if (problem) throw new DeployFault(`${problem.field} ${problem.message}`);
  const engine = await context.engines.engine();
  if (typeof engine === 'string') throw new Error(`No containers run here: ${engine}`);
  const environment = containerEnvironment({ spec, sandbox, settings, prefix: context.settings.sandboxEnvPrefix });
  const variables = linesOf(environment);
  createSandbox(
    sandbox,
    runAs,
    sandbox.executor ? [{ path: sandbox.executor.deployEnv, text: variables, mode: 0o600 }] : [],
  );
  const ask: Ask = (command, more) =>
    askEngine(engine, command, {
      timeoutMillis: settings.dockerClientTimeLimitSeconds * 1_000,
      signal,
      sandbox: sandbox.root,
      ...more,
    });
  try {
    checkLines(environment);
    await haveImage(context, start, engine, ask);
    start.say(`Staging files, executor pid ${process.pid}`);
    // All that the container sees of the sandbox.
    const downloadsTo = sandbox.executor?.directory;
    await fetchArtifacts({ context, spec, sandbox, runAs, signal, ...(downloadsTo !== undefined && { downloadsTo }) });
    // Of the agent's alone: what is in the sandbox may have become anything by now.
    const envFile = join(directory.path, 'container.env');
    await writeDurably(envFile, variables);
    if (hasOtherUsers(spec.container, settings)) await directory.noteOwners();
    const hostPaths = await hostPathsOf(spec.container, context);
    const workdir = workdirInSandbox(spec.container, settings.sandboxPath);
    // The engine would make it as root.
    if (workdir !== undefined) await makeDirectoryBelow(sandbox.executor?.directory ?? sandbox.root, workdir, 0o755);
    const words = createWords({
      engine,
      settings,
      spec,
      sandbox,
      name: container.name,
      agentKey: context.directory.key,
      envFile,
      runAs,
      maxProcesses: context.settings.maxProcessesPerTask,
      hostPaths,
    });
    await ask(words).catch(async (cause: unknown) => {
      signal.throwIfAborted();
      throw await causeOf(context, cause, 'Container not created');
    });
  } catch (thrown) {
    // Whatever else the engine did not do is no fault of the deploy.
    const failed = thrown instanceof EngineFailure ? new EngineTrouble(thrown.message, { cause: thrown }) : thrown;
    const cause = signal.aborted ? thrown : await causeOf(context, failed, 'The engine failed');
    if (!signal.aborted) await note(sandbox, messageOf(cause));
    throw cause;
  }
  return underShim(context, start, engine);
}

/** The image is on the machine after this. An executor asks for the newest each time; what only the machine has does as well. */
async function haveImage(
  context: ContainerContext,
  { spec, sandbox, say, signal }: ContainerStart,
  engine: Engine,
  ask: Ask,
): Promise<void> {
  const image = imageOf(spec.container);
  if (!image) throw new DeployFault('containerInfo has no image');
  const { isPulled, name } = image;
  const reference = imageReference(name);
  const isThere = (await inspectImage(ask, reference)) !== undefined;
  // By that name a registry can only be the machine itself.
  const isLocal = name.startsWith('localhost/');
  if (isPulled || !isThere || (spec.executorData && !isLocal)) {
    say(`Pulling image ${name}, executor pid ${process.pid}`);
    const isNeeded = isPulled || !isThere;
    await context.images.pull(engine, reference, ask, signal).catch(async (cause: unknown) => {
      signal.throwIfAborted();
      if (isNeeded) throw await causeOf(context, cause, `Cannot pull ${name}`);
      await note(sandbox, `Cannot pull ${name}, using that of this machine: ${messageOf(cause)}`);
    });
  }
  const { executor } = sandbox;
  if (!executor) return;
  const file = await createFileBelow(
    sandbox.root,
    relative(sandbox.root, join(executor.directory, 'docker_image.json')),
    0o644,
  );
  await file.writeFile((await inspectImage(ask, reference)) ?? '[]').finally(() => file.close());
}

/**
 * Decides who is to blame for the failure of an engine: the machine, when the engine is in trouble or does not work any
 * more, which is checked immediately; else the deploy, whose values the engine did not accept.
 */
async function causeOf({ engines, settings }: ContainerContext, cause: unknown, what: string): Promise<unknown> {
  if (!(cause instanceof EngineFailure)) return cause;
  const refusal = await engines.refusalNow();
  if (refusal !== undefined) return new Error(`No containers run here: ${refusal}`, { cause });
  const whole = `${what}: ${cause.message}`;
  // Engines name the cause last, behind all that it kept them from: a status message would be cut before it.
  const text = whole.length <= settings.maxTaskMessageLength ? whole : `${what}: ${cause.message.split(': ').at(-1)}`;
  return cause instanceof EngineTrouble ? new Error(text, { cause }) : new DeployFault(text, { cause });
}

/** Notes a failure in the output of the task, where people look for it: status messages are short. */
async function note({ root, executor }: Sandbox, text: string): Promise<void> {
  const file = await openLogBelow(root, executor ? relative(root, executor.executorLog) : 'stderr').catch(
    () => undefined,
  );
  await file?.appendFile(`${new Date().toISOString()} ${text}\n`).finally(() => file.close());
}

/**
 * The script that is the task's first process: it starts the container, stays with it, and tells how it ended. Everything in it
 * is the agent's: it may be root.
 */
async function underShim(context: ContainerContext, start: ContainerStart, engine: Engine): Promise<Shim> {
  const { directory, sandbox, signal, container } = start;
  const limit = context.settings.containers.dockerClientTimeLimitSeconds;
  const q = launcherLiteral;
  const end = q(join(directory.path, endFile));
  const call = (command: string, options: readonly Option[]) =>
    [...engine.words, ...command.split(' '), ...commandLine(options, [container.name])].map(q).join(' ');
  // Docker does not know the option, and nothing sends its program a signal that is meant for the container.
  const attached: Option[] = [['attach', true], ...(engine.kind === 'podman' ? [['sig-proxy', 'false'] as const] : [])];
  const variables = Object.entries(engineEnvironment()).map(([key, value]) => `export ${key}=${q(value)}\n`);
  const script = `exec 3<&- </dev/null
trap : TERM INT HUP QUIT
cd / || exit 125
exec 4>>/proc/self/fd/10 5>>/proc/self/fd/11 || exit 125
${variables.join('')}${call('start', attached)} >&4 2>&5 4>&- 5>&-
status=$?
timeout -k 5 ${limit} ${call('container inspect', [['format', endFormat]])} >${end}.new && mv ${end}.new ${end}
timeout -k 5 ${limit} ${call('rm', removal)} >/dev/null
exit "$status"
`;
  writeForUser(directory.launcher, script, undefined);
  const { executor, root } = sandbox;
  const logs = executor
    ? [relative(root, executor.serviceLog), relative(root, executor.serviceLog)]
    : ['stdout', 'stderr'];
  const [out, err] = await Promise.all(logs.map((path) => openLogBelow(root, path)));
  try {
    if (!out || !err) throw new DeployFault('The files for the output of the task are gone');
    signal.throwIfAborted();
    return await startShim(
      context.shim,
      directory,
      { words: [], stdout: '', stderr: '', workingDirectory: '/' },
      {
        sandboxRoot: sandbox.root,
        switchUser: [],
        // The engine puts the container into cgroups of its own, and its programs need memory that is none of the task's.
        cgroupFiles: [],
        outputs: { stdout: out.fd, stderr: err.fd },
      },
    );
  } finally {
    await out?.close();
    await err?.close();
  }
}
