import type { FieldError } from '../field-error.js';
import { type Deploy, hasContainer } from '../model/deploy.js';
import { programsAround } from '../model/deploy-tasks.js';
import type { PendingTask, TaskId } from '../model/task.js';
import { bytesTogether, longestText, longestTogether, variableBytes } from './kernel-limits.js';
import { type LaunchPlace, placeholders } from './placeholders.js';

/** Texts that a run adds to those of its deploy. */
type RunTexts = Pick<PendingTask, 'cmdLineArgsList' | 'envOverrides'>;

/** For what the scheduler and the agent add: ids, ports, paths of the sandbox. */
const ourShare = 64 * 1024;

/** The longest names that a machine may have: it is not known yet which one it is. */
const place: LaunchPlace = { slaveId: '', incarnation: '', hostname: 'h'.repeat(253), rackId: 'r'.repeat(255) };

/**
 * Environment and arguments that no program can be started with: told here, as the agent could only fail the task. `run` where one
 * is asked for; then the fields are named as in a run.
 */
export function textProblems(deploy: Deploy, run?: RunTexts): FieldError[] {
  const fill = placeholders(longestTaskId(deploy), place);
  const problems: FieldError[] = [];
  const sizeOfAll = (field: string, variables: Readonly<Record<string, string | null>> | undefined): number => {
    const sizes = Object.entries(variables ?? {}).map(([name, value]) => variableBytes(name, fill(value ?? '')));
    const longest = Math.max(0, ...sizes);
    if (longest > longestText) problems.push(problem(field, `a variable of ${longest}`, 'one', longestText));
    return bytesTogether(sizes);
  };
  const env = sizeOfAll('deploy.env', deploy.env);
  const ofInstances = Object.entries(deploy.taskEnv ?? {}).map(([no, of]) => sizeOfAll(`deploy.taskEnv.${no}`, of));
  const overrides = sizeOfAll('envOverrides', run?.envOverrides);
  const words = wordsOf(deploy, run).map((word) => Buffer.byteLength(word));
  const longest = Math.max(0, ...words);
  const field = run ? 'commandLineArgs' : deploy.arguments ? 'deploy.arguments' : 'deploy.command';
  if (longest > longestText) problems.push(problem(field, `a text of ${longest}`, 'one', longestText));
  const together = env + Math.max(0, ...ofInstances) + overrides + bytesTogether(words);
  const most = longestTogether - ourShare;
  if (together > most) {
    const whole = run ? 'envOverrides' : 'deploy.env';
    problems.push(problem(whole, `together with all variables and arguments ${together}`, 'all', most));
  }
  for (const program of programsAround(deploy.tasks)) {
    const at = `deploy.${program.field}`;
    const own = sizeOfAll(`${at}.env`, program.env);
    const sizes = [program.command, ...(program.arguments ?? [])].map((word) => Buffer.byteLength(word));
    const biggest = Math.max(0, ...sizes);
    if (biggest > longestText) problems.push(problem(`${at}.command`, `a text of ${biggest}`, 'one', longestText));
    const all = env + Math.max(0, ...ofInstances) + own + bytesTogether(sizes);
    if (all > most)
      problems.push(problem(`${at}.env`, `together with all variables and arguments ${all}`, 'all', most));
  }
  // What is wrong with the deploy alone is not the fault of the run.
  return run ? problems.filter((found) => !found.field.startsWith('deploy.')) : problems;
}

function wordsOf({ command, arguments: args, executorData, ...deploy }: Deploy, run: RunTexts | undefined): string[] {
  const words = [...(executorData?.extraCmdLineArgs ?? []), ...(args ?? []), ...(run?.cmdLineArgsList ?? [])];
  // cmd and its arguments are one text for a shell.
  if (executorData && !hasContainer(deploy)) return [[executorData.cmd, ...words].join(' ')];
  return [executorData?.cmd ?? command ?? '', ...words];
}

const problem = (field: string, what: string, of: string, most: number): FieldError => ({
  field,
  rule: 'size',
  message: `${field} has ${what} bytes, and a program can be given at most ${most} in ${of}`,
});

function longestTaskId({ requestId, id }: Deploy): TaskId {
  const { hostname: host, rackId } = place;
  const [startedAt, instanceNo] = [9_999_999_999_999, 99_999];
  const names = { requestId, deployId: id, startedAt, instanceNo, host, sanitizedHost: host, rackId };
  return {
    ...names,
    sanitizedRackId: rackId,
    id: [requestId, id, startedAt, instanceNo, host, rackId].join('-'),
  };
}
