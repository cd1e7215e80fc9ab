import type { DeployGate, GateMeasurement, GateRow } from '../model/gate.js';
import { secondsText } from './texts.js';

/** The step whose gates are looked at. Times in epoch milliseconds. */
export interface StepFacts {
  step: number;
  /** Since when its tasks are all healthy. */
  launchedAt: number;
  /** Reason for which one of its tasks is not healthy any more. */
  sick?: string;
}

export type GatesVerdict =
  | { kind: 'passed' }
  /** The row is to be stored; then the gates are looked at again. */
  | { kind: 'change'; row: GateRow }
  | { kind: 'wait'; checkAgainAt?: number }
  | { kind: 'failed'; message: string };

export const defaultIntervalMillis = 30_000;

/** Looks at the gates of a step in their order: the first one that has not passed decides. `rows`: those of any steps. */
export function judgeGates(
  gates: readonly DeployGate[],
  rows: readonly GateRow[],
  facts: StepFacts,
  now: number,
): GatesVerdict {
  for (const [index, gate] of gates.entries()) {
    const row = rows.find((each) => each.step === facts.step && each.gate === index + 1);
    if (!row) return { kind: 'change', row: opened(gate, index + 1, facts.step, now) };
    if (row.state !== 'PASSED') return judgeRow(gate, row, facts, now);
  }
  return { kind: 'passed' };
}

const opened = ({ type }: DeployGate, gate: number, step: number, now: number): GateRow => ({
  step,
  gate,
  type,
  state: 'WAITING',
  since: now,
  ...(isMeasured(type) && { nextAt: now }),
  passes: 0,
  failures: 0,
  inconclusive: 0,
});

export const isMeasured = (type: DeployGate['type']): boolean => type === 'HTTP' || type === 'PROMETHEUS';

function judgeRow(gate: DeployGate, row: GateRow, facts: StepFacts, now: number): GatesVerdict {
  switch (row.state) {
    case 'PASSED':
      return { kind: 'passed' };
    case 'FAILED':
    case 'CANCELED':
      return { kind: 'failed', message: failureText(row) };
    case 'PAUSED':
      return { kind: 'wait' };
    case 'WAITING':
      return judgeWaiting(gate, row, facts, now);
  }
}

function judgeWaiting(gate: DeployGate, row: GateRow, facts: StepFacts, now: number): GatesVerdict {
  if (row.type === 'BAKE' && facts.sick !== undefined) return { kind: 'change', row: failed(row, facts.sick, now) };
  const until = decidedAt(gate, row, facts);
  if (until === undefined) return { kind: 'wait' };
  if (now < until) return { kind: 'wait', checkAgainAt: until };
  if (row.type === 'BAKE') return { kind: 'change', row: passed(row, now) };
  return { kind: 'change', row: failed(row, `nobody approved it within ${secondsText(gate.timeoutMillis!)}`, now) };
}

/** It has neither passed nor failed. */
export const isOpen = ({ state }: GateRow): boolean => state === 'WAITING' || state === 'PAUSED';

/** Time at which an open gate is decided at the latest, in epoch milliseconds; undefined: the clock does not decide it. */
export function decidedAt(
  { type, durationMillis, timeoutMillis }: DeployGate,
  { since }: GateRow,
  { launchedAt }: Pick<StepFacts, 'launchedAt'>,
): number | undefined {
  // A task that was replaced meanwhile has to prove itself for the whole time.
  if (type === 'BAKE') return Math.max(since, launchedAt) + durationMillis!;
  return type === 'MANUAL' && timeoutMillis !== undefined ? since + timeoutMillis : undefined;
}

/** Time after which a gate passes at the earliest, in milliseconds. */
export function leastMillis({ type, durationMillis, count = 1, intervalMillis }: DeployGate): number {
  if (type === 'BAKE') return durationMillis ?? 0;
  return isMeasured(type) ? (count - 1) * (intervalMillis ?? defaultIntervalMillis) : 0;
}

const ended = (row: GateRow, state: 'PASSED' | 'FAILED', now: number): GateRow => {
  const { nextAt: _next, ...rest } = row;
  return { ...rest, state, endedAt: now };
};
const passed = (row: GateRow, now: number): GateRow => ended(row, 'PASSED', now);
const failed = (row: GateRow, message: string, now: number): GateRow => ({ ...ended(row, 'FAILED', now), message });

/** Inconclusive measurements that are forgiven. */
const inconclusiveLimitOf = ({ failureLimit = 0, inconclusiveLimit = failureLimit }: DeployGate): number =>
  inconclusiveLimit;

/** The gate after one more measurement. */
export function afterMeasurement(
  gate: DeployGate,
  row: GateRow,
  { outcome, message }: GateMeasurement,
  now: number,
): GateRow {
  const counted = {
    ...row,
    passes: row.passes + Number(outcome === 'PASSED'),
    failures: row.failures + Number(outcome === 'FAILED'),
    inconclusive: row.inconclusive + Number(outcome === 'INCONCLUSIVE'),
  };
  const { count = 1, failureLimit = 0, inconclusive = 'FAIL', intervalMillis = defaultIntervalMillis } = gate;
  const tooMany = (number: number, what: string, limit: number): string =>
    `${number} ${number === 1 ? 'measurement' : 'measurements'} ${what}${limit > 0 ? `, ${limit} allowed` : ''}; the last: ${message}`;
  if (counted.failures > failureLimit) return failed(counted, tooMany(counted.failures, 'failed', failureLimit), now);
  const mostInconclusive = inconclusiveLimitOf(gate);
  if (counted.inconclusive > mostInconclusive) {
    const text = tooMany(counted.inconclusive, 'without a result', mostInconclusive);
    if (inconclusive === 'FAIL') return failed(counted, text, now);
    const { nextAt: _next, ...rest } = counted;
    return { ...rest, state: 'PAUSED', message: text };
  }
  return counted.passes >= count ? passed(counted, now) : { ...counted, nextAt: now + intervalMillis };
}

/** Answer of a person to a gate. */
export interface GateAnswer {
  approves: boolean;
  user?: string;
  message?: string;
  /** The answering user started the deploy. */
  isDeployer: boolean;
}

export type AnsweredGate =
  | { kind: 'changed'; row: GateRow }
  /** It was answered so before. */
  | { kind: 'same' }
  | { kind: 'refused'; because: 'NOT_WAITING' | 'OWN_DEPLOY' };

/** The gate after the answer of a person: one that is MANUAL and waits, or one whose measurements decide nothing. */
export function answerGate(gate: DeployGate, row: GateRow, answer: GateAnswer, now: number): AnsweredGate {
  const { approves, user, message, isDeployer } = answer;
  const isAsked = row.state === 'PAUSED' || (row.state === 'WAITING' && row.type === 'MANUAL');
  const state = approves ? 'PASSED' : 'FAILED';
  if (!isAsked) {
    const wasAnswered = row.type === 'MANUAL' || row.inconclusive > inconclusiveLimitOf(gate);
    return wasAnswered && row.state === state ? { kind: 'same' } : { kind: 'refused', because: 'NOT_WAITING' };
  }
  // Whoever deployed may take it back.
  if (approves && isDeployer && gate.requireOtherApprover === true) return { kind: 'refused', because: 'OWN_DEPLOY' };
  const said = message === undefined ? '' : `: ${message}`;
  const text = approves ? message : `rejected by ${user ?? 'a user'}${said}`;
  return { kind: 'changed', row: { ...ended(row, state, now), user, message: text } };
}

/** Reason for which a deploy is rolled back, for people. */
export const failureText = ({ gate, step, type, message }: GateRow): string =>
  `Gate ${gate} (${type}) after step ${step} failed${message === undefined ? '' : `: ${message}`}`;
