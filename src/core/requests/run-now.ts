import { isPathPart } from '../path-part.js';
import type { ResourceLimits } from '../deploy-validation/context.js';
import { resourceProblems } from '../deploy-validation/resource-rules.js';
import { type FieldError, fieldError } from '../field-error.js';
import type { ObjstoreUploaderFile } from '../model/deploy.js';
import { isTerminal, type PendingType, type TaskState } from '../model/enums.js';
import type { Request, RunNowRequest } from '../model/request.js';
import type { PendingRequest } from '../model/task.js';
import { type RecordLimits, sizeProblem } from '../record-size.js';
import { runsAtOnce } from '../schedules/index.js';
import { refuseEnded, type RequestFacts } from './action-rules.js';

/** The scheduler tells tasks who started them in this variable; a run may not say otherwise. */
const reservedName = 'STARTED_BY_USER';
const dayMillis = 24 * 3600 * 1000;

export interface RunNowLimits extends ResourceLimits, RecordLimits {
  maxRunIdSize: number;
  maxRunNowTaskLaunchDelayDays: number;
  enforceSignedArtifacts?: boolean;
  /** Buckets that its files may be uploaded to; absent: any. */
  uploadBuckets?: readonly string[] | undefined;
}

/** Times from 2001 to 2286 in seconds: in milliseconds they are in the spring of 1970, and the run would begin at once. */
const inSeconds = { first: 1_000_000_000, last: 9_999_999_999 };

/** Problems of the options of a run that show without its request. */
export function runProblems(run: RunNowRequest, now: number, limits: RunNowLimits): FieldError[] {
  const errors: FieldError[] = [];
  const size = sizeProblem('run', run, limits);
  if (size) errors.push(size);
  const { runId, runAt, envOverrides, commandLineArgs } = run;
  if (runId !== undefined && (runId === '' || runId.length > limits.maxRunIdSize)) {
    errors.push(fieldError('runId', 'length', `runId must have 1 to ${limits.maxRunIdSize} characters (maxRunIdSize)`));
  }
  if (runId !== undefined && !isPathPart(runId)) {
    const message = "runId must not be '.' or '..', and must have no control characters: no path could name it";
    errors.push(fieldError('runId', 'pattern', message));
  }
  if (runAt !== undefined && runAt >= inSeconds.first && runAt <= inSeconds.last && runAt < now) {
    errors.push(fieldError('runAt', 'min', 'runAt must be in epoch milliseconds, not in seconds'));
  }
  const latest = now + limits.maxRunNowTaskLaunchDelayDays * dayMillis;
  if (runAt !== undefined && runAt > latest) {
    errors.push(
      fieldError(
        'runAt',
        'max',
        `runAt must be at most ${limits.maxRunNowTaskLaunchDelayDays} days ahead (maxRunNowTaskLaunchDelayDays)`,
      ),
    );
  }
  for (const [name, value] of Object.entries(envOverrides ?? {})) {
    if (name === reservedName || value.includes(reservedName)) errors.push(reserved(`envOverrides.${name}`));
  }
  if (commandLineArgs?.some((argument) => argument.includes(reservedName))) errors.push(reserved('commandLineArgs'));
  if (limits.enforceSignedArtifacts && run.extraArtifacts?.length)
    errors.push(
      fieldError(
        'extraArtifacts',
        'signed',
        'extraArtifacts cannot be signed, and only signed artifacts are allowed (enforceSignedArtifacts)',
      ),
    );
  errors.push(...bucketProblems(run.objstoreUploaderAdditionalFiles, limits.uploadBuckets));
  if (run.resources) errors.push(...resourceProblems(run.resources, 1, limits, 'resources'));
  return errors;
}

/** Files of a deploy or a run go to no bucket that the settings do not name. */
export const bucketProblems = (
  files: readonly ObjstoreUploaderFile[] = [],
  allowed: readonly string[] | undefined,
): FieldError[] =>
  files.flatMap(({ objstoreUploaderBucket: bucket }, index) => {
    if (bucket === undefined || !allowed || allowed.includes(bucket)) return [];
    const field = `objstoreUploaderAdditionalFiles.${index}.objstoreUploaderBucket`;
    const message = `${field} must be a bucket that the settings name (objstore.allowedUploaderBuckets), not '${bucket}'`;
    return [fieldError(field, 'allowed', message)];
  });

export interface RunFacts extends Pick<RequestFacts, 'request' | 'state' | 'deployInUse'> {
  activeTasks: number;
  /** Tasks that wait for their time or a machine, and wishes for one that the scheduler has not seen yet. */
  waitingTasks: number;
  /** Ports of the deploy in use. */
  numPorts: number;
}

/** The newest run of the same id; `taskId` and `state` once it has a task. */
export interface EarlierRun {
  taskId?: string;
  state?: TaskState;
}

type RunDecision =
  | { kind: 'queue'; pendingType: Extract<PendingType, 'IMMEDIATE' | 'ONEOFF'>; deployId: string }
  | {
      kind: 'refuse';
      code:
        | 'RUN_ID_USED'
        | 'REQUEST_BEING_CLEANED'
        | 'REQUEST_PAUSED'
        | 'REQUEST_FINISHED'
        | 'NO_DEPLOY'
        | 'TASK_RUNNING'
        | 'TOO_MANY_RUNS'
        | 'INVALID_REQUEST';
      message: string;
      errors?: FieldError[];
    };

/** True if the number of runs at a time is limited. Else nothing depends on how many there are. */
export const countsRuns = ({ requestType, instances }: Request): boolean =>
  requestType === 'SCHEDULED' || instances !== undefined;

/** May this request run once more now? `earlier`: what has the run id already, where the caller asks for a new one. */
export function decideRun(run: RunNowRequest, facts: RunFacts, earlier?: EarlierRun): RunDecision {
  const { request, state, deployInUse } = facts;
  const refuse = (code: (RunDecision & { kind: 'refuse' })['code'], what: string): RunDecision => ({
    kind: 'refuse',
    code,
    message: `Request '${request.id}' ${what}`,
  });
  // Before all else: who repeats a call is to hear of the run that there is, also while another one could not begin.
  if (earlier) return refuse('RUN_ID_USED', `has a run '${run.runId}' already: ${shownRun(earlier)}`);
  const ended = refuseEnded(request, state);
  if (ended) return { kind: 'refuse', ...ended };
  if (state === 'PAUSED') return refuse('REQUEST_PAUSED', 'is paused');
  if (!deployInUse) return refuse('NO_DEPLOY', 'has no deploy to run');
  if (request.requestType === 'SCHEDULED' && facts.activeTasks >= runsAtOnce(request))
    return refuse('TASK_RUNNING', 'is running already');
  if (request.requestType === 'ON_DEMAND' && request.instances !== undefined) {
    const runs = facts.activeTasks + facts.waitingTasks;
    if (runs >= request.instances) return refuse('TOO_MANY_RUNS', `has ${runs} runs already, of ${request.instances}`);
  }
  if (request.requestType !== 'SCHEDULED' && request.requestType !== 'ON_DEMAND') {
    return refuse(
      'INVALID_REQUEST',
      `is of type ${request.requestType}; only SCHEDULED and ON_DEMAND requests can be run`,
    );
  }
  const { numPorts } = run.resources ?? {};
  if (run.resources && (numPorts ?? 0) < facts.numPorts) {
    const message = `resources.numPorts must be at least the ${facts.numPorts} of the deploy`;
    return {
      kind: 'refuse',
      code: 'INVALID_REQUEST',
      message,
      errors: [fieldError('resources.numPorts', 'min', message)],
    };
  }
  return {
    kind: 'queue',
    pendingType: request.requestType === 'SCHEDULED' ? 'IMMEDIATE' : 'ONEOFF',
    deployId: deployInUse,
  };
}

function shownRun({ taskId, state = 'TASK_LAUNCHED' }: EarlierRun): string {
  if (taskId === undefined) return 'it waits';
  return isTerminal(state) ? `task ${taskId} ended as ${state}` : `task ${taskId} is ${state}`;
}

const reserved = (field: string): FieldError =>
  fieldError(field, 'reserved', `${field} may not contain ${reservedName}: the scheduler sets it`);

/** Options of a run beyond its deploy, as its entry in the pending queue carries it. */
export const runOptions = (run: RunNowRequest): Partial<PendingRequest> => ({
  cmdLineArgsList: run.commandLineArgs,
  skipHealthchecks: run.skipHealthchecks,
  resources: run.resources,
  objstoreUploaderAdditionalFiles: run.objstoreUploaderAdditionalFiles,
  runAsUserOverride: run.runAsUserOverride,
  envOverrides: run.envOverrides,
  requiredSlaveAttributeOverrides: run.requiredSlaveAttributeOverrides,
  allowedSlaveAttributeOverrides: run.allowedSlaveAttributeOverrides,
  extraArtifacts: run.extraArtifacts,
  runAt: run.runAt,
  triggersFollowers: run.triggersFollowers,
});
