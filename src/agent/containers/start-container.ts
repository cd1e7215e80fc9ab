import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, normalize, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ContainerInfo, imageOf } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { fetchArtifacts } from '../artifacts/fetch.js';
import { DeployFault } from '../artifacts/order.js';
import type { AgentContext } from '../agent-context.js';
import { messageOf, writeDurably } from '../files.js';
import { createFileBelow, openLogBelow } from '../sandbox/below.js';
import { createSandbox, type Sandbox } from '../sandbox/sandbox-layout.js';
import { launcherLiteral, writeForUser } from '../shim/launcher.js';
import { type Shim, startShim } from '../shim/shim.js';
import type { TaskStart } from '../shim/start-task.js';
import type { TaskFolder } from '../tasks/task-folder.js';
import { containerEnvironment, containerName, createWords, environmentFile } from './container-words.js';
import { askEngine, type Engine, engineEnvironment, EngineFailure } from './engine.js';
import { containerProblems, refusedHostPath } from './rules.js';
import { endFile, endFormat, TaskContainer } from './task-container.js';

export interface ContainerStart extends TaskStart {
  spec: LaunchSpec & { container: ContainerInfo };
  container: TaskContainer;
  /** Says what is being done. */
  say: (message: string) => void;
}

/** undefined: the task runs in none. */
export const containerOf = (
  context: AgentContext,
  spec: LaunchSpec,
  { root }: Sandbox,
  folder: TaskFolder,
): TaskContainer | undefined =>
  spec.container &&
  new TaskContainer(context, containerName(context.settings.containers.dockerPrefix, spec.taskId), root, folder);

export function containerStart(
  start: TaskStart,
  container: TaskContainer | undefined,
  say: ContainerStart['say'],
): ContainerStart | undefined {
  const { container: info } = start.spec;
  return container && info && { ...start, spec: { ...start.spec, container: info }, container, say };
}

/** Pulls the image, prepares the sandbox, creates the container, and starts it under the shim of its task. */
export async function startContainer(context: AgentContext, start: ContainerStart): Promise<Shim> {
  const { spec, folder, sandbox, runAs, signal, container } = start;
  const settings = context.settings.containers;
  const [problem] = containerProblems(spec.container, { isManaged: spec.executorData !== undefined, policy: settings });
  if (problem) throw new DeployFault(`${problem.field} ${problem.message}`);
  const engine = await context.engines.engine();
  if (typeof engine === 'string') throw new Error(`No containers run here: ${engine}`);
  const environment = containerEnvironment({ spec, sandbox, settings, prefix: context.settings.sandboxEnvPrefix });
  const variables = environmentFile(environment);
  createSandbox(
    sandbox,
    runAs,
    sandbox.executor ? [{ path: sandbox.executor.deployEnv, text: variables, mode: 0o600 }] : [],
  );
  const ask = (command: readonly string[], input?: string) =>
    askEngine(engine, command, {
      timeoutMillis: settings.dockerClientTimeLimitSeconds * 1_000,
      signal,
      sandbox: sandbox.root,
      input,
    });
  try {
    await haveImage(context, start, ask);
    start.say(`Staging files, executor pid ${process.pid}`);
    await fetchArtifacts({ context, spec, sandbox, runAs, signal });
    // Of the agent's alone: what is in the sandbox may have become anything by now.
    const envFile = join(folder.path, 'container.env');
    await writeDurably(envFile, variables);
    const hostPaths = await hostPathsOf(spec.container, context);
    const words = createWords({
      engine,
      settings,
      spec,
      sandbox,
      name: container.name,
      agentKey: context.folder.key,
      envFile,
      runAs,
      maxProcesses: context.settings.maxProcessesPerTask,
      hostPaths,
    });
    await ask(words).catch((cause: unknown) => {
      // What an engine does not take is of the deploy: the options of the agent's own were tried with others.
      throw cause instanceof EngineFailure
        ? new DeployFault(`Container not created: ${cause.message}`, { cause })
        : cause;
    });
  } catch (cause) {
    if (!signal.aborted) await note(sandbox, messageOf(cause));
    throw cause;
  }
  return underShim(context, start, engine);
}

type Ask = (command: readonly string[], input?: string) => Promise<string>;

const pauseBetweenPullsMillis = 1_000;

/** The image is on the machine after this. An executor asks for the newest each time; what only the machine has does as well. */
async function haveImage(
  context: AgentContext,
  { spec, sandbox, say, signal }: ContainerStart,
  ask: Ask,
): Promise<void> {
  const settings = context.settings.containers;
  const image = imageOf(spec.container);
  if (!image) throw new DeployFault('containerInfo has no image');
  const { name, isPulled } = image;
  const inspect = () => ask(['image', 'inspect', '--', name]);
  const known = await inspect().catch(unlessFailure);
  // By that name a registry can only be the machine itself.
  const isLocal = name.startsWith('localhost/');
  if (isPulled || known === undefined || (spec.executorData && !isLocal)) {
    say(`Pulling image ${name}, executor pid ${process.pid}`);
    const failure = await pull(settings, name, ask, signal);
    if (failure !== undefined && (isPulled || known === undefined))
      throw new DeployFault(`Cannot pull ${name}: ${failure}`);
    if (failure !== undefined) await note(sandbox, `Cannot pull ${name}, using that of this machine: ${failure}`);
  }
  const { executor } = sandbox;
  if (!executor) return;
  const file = await createFileBelow(
    sandbox.root,
    relative(sandbox.root, join(executor.folder, 'docker_image.json')),
    0o644,
  );
  await file.writeFile(await inspect()).finally(() => file.close());
}

async function pull(
  settings: AgentContext['settings']['containers'],
  name: string,
  ask: Ask,
  signal: AbortSignal,
): Promise<string | undefined> {
  let failure = '';
  for (let attempt = 1; attempt <= settings.maxDockerPullAttempts; attempt++) {
    try {
      await logIn(settings, name, ask);
      await ask(['pull', '--quiet', '--', name]);
      return undefined;
    } catch (cause) {
      signal.throwIfAborted();
      failure = messageOf(cause);
      if (attempt < settings.maxDockerPullAttempts) await delay(pauseBetweenPullsMillis, undefined, { signal });
    }
  }
  return failure;
}

/** With the credentials of the settings, for images of their registry. Others are as the engine itself is configured. */
async function logIn({ registryLogin }: AgentContext['settings']['containers'], name: string, ask: Ask): Promise<void> {
  if (!registryLogin || !name.startsWith(`${registryLogin.server}/`)) return;
  const { user, password, server } = registryLogin;
  await ask(['login', `--username=${user}`, '--password-stdin', '--', server], password);
}

function unlessFailure(cause: unknown): undefined {
  if (!(cause instanceof EngineFailure)) throw cause;
}

/** Where people look who wonder why nothing has started: status messages are short. */
async function note({ root, executor }: Sandbox, text: string): Promise<void> {
  const file = await openLogBelow(root, executor ? relative(root, executor.executorLog) : 'stderr').catch(
    () => undefined,
  );
  await file?.appendFile(`${new Date().toISOString()} ${text}\n`).finally(() => file.close());
}

/** What volumes of the machine really show. */
const hostPathsOf = (info: ContainerInfo, context: AgentContext): Promise<(string | undefined)[]> =>
  Promise.all(
    (info.volumes ?? []).map((volume) =>
      volume.source?.type === 'DOCKER_VOLUME' || volume.source?.dockerVolume
        ? undefined
        : realHostPath(volume.hostPath ?? volume.containerPath ?? '', context),
    ),
  );

/**
 * Without the links on the way, which may lead out of what is allowed. The engine looks at the path once more, so no other
 * user than the agent's and root may be able to put a link there meanwhile.
 */
async function realHostPath(path: string, { settings, folder }: AgentContext): Promise<string> {
  const allowed = settings.containers.allowedHostPaths;
  const real = await realpath(path).catch(() => {
    throw new DeployFault(`Volume ${path}: there is no such path on this machine`);
  });
  const realFolders = await Promise.all(allowed.map((each) => realpath(each).catch(() => each)));
  const closed = [folder.root, ...folder.allSandboxes];
  const refusal =
    refusedHostPath(real, { allowedHostPaths: realFolders }, closed) ??
    refusedHostPath(path, { allowedHostPaths: allowed }, closed);
  if (refusal !== undefined) throw new DeployFault(`Volume ${path} ${refusal}`);
  const own = process.getuid?.() ?? 0;
  for (let place = real; !realFolders.map(normalize).includes(place); place = dirname(place)) {
    const above = await lstat(dirname(place));
    if (place === '/' || ![0, own].includes(above.uid) || (above.mode & 0o022) !== 0)
      throw new DeployFault(`Volume ${path}: others can change ${dirname(place)}, and so what it would show`);
  }
  return real;
}

/**
 * The script that is the task's first process: it starts the container, stays with it, and tells how it ended. Everything in it
 * is the agent's: it may be root.
 */
async function underShim(context: AgentContext, start: ContainerStart, engine: Engine): Promise<Shim> {
  const { folder, sandbox, signal, container } = start;
  const limit = context.settings.containers.dockerClientTimeLimitSeconds;
  const q = launcherLiteral;
  const [name, end] = [q(container.name), q(join(folder.path, endFile))];
  const call = engine.words.map(q).join(' ');
  // Docker does not know the option, and nothing sends its program a signal that is meant for the container.
  const begin = engine.kind === 'podman' ? 'start --attach --sig-proxy=false' : 'start --attach';
  const variables = Object.entries(engineEnvironment()).map(([key, value]) => `export ${key}=${q(value)}\n`);
  const script = `exec 3<&- </dev/null
trap : TERM INT HUP QUIT
cd / || exit 125
exec 4>>/proc/self/fd/10 5>>/proc/self/fd/11 || exit 125
${variables.join('')}${call} ${begin} ${name} >&4 2>&5 4>&- 5>&-
status=$?
timeout -k 5 ${limit} ${call} container inspect ${q(endFormat)} ${name} >${end}.new && mv ${end}.new ${end}
timeout -k 5 ${limit} ${call} rm --force --volumes ${name} >/dev/null
exit "$status"
`;
  writeForUser(folder.launcher, script, undefined);
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
      folder,
      { words: [], stdout: '', stderr: '', workingFolder: '/' },
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
