import type { DeployGate, GateMeasurement, GateThreshold } from '../model/gate.js';
import { storableText } from '../storable-text.js';
import { thresholdText } from './texts.js';

/** Answer of a service that was asked; problem: why there was none. */
export type JudgeAnswer = { status: number; body: string } | { problem: string };

export type Measured = Omit<GateMeasurement, 'at'>;

const inconclusive = (message: string): Measured => ({ outcome: 'INCONCLUSIVE', message: toldProblem(message) });
/** What a service says may be long, and have characters that cannot be stored. */
const toldProblem = (problem: string): string => storableText(problem, longestMessage);
const longestMessage = 500;

/** A number in an answer; problem: why there is none. */
export type AnsweredNumber = { value: number } | { problem: string };

/** Judges the answer to a gate of type HTTP or PROMETHEUS. */
export const measure = (gate: DeployGate, answer: JudgeAnswer): Measured =>
  gate.type === 'PROMETHEUS' ? measurePrometheus(gate, answer) : measureHttp(gate, answer);

/** Without a threshold the status decides; with one a number in the answer does, and another status says nothing. */
export function measureHttp(gate: DeployGate, answer: JudgeAnswer): Measured {
  if ('problem' in answer) return inconclusive(answer.problem);
  const { threshold } = gate;
  if (threshold) return compared(threshold, httpNumber(gate, answer));
  const problem = statusProblem(gate, answer);
  return problem === undefined ? { outcome: 'PASSED' } : { outcome: 'FAILED', message: problem };
}

/** The query has to give exactly one number. */
export const measurePrometheus = ({ threshold }: DeployGate, answer: JudgeAnswer): Measured =>
  compared(threshold!, prometheusNumber(answer));

function statusProblem({ expectedStatus }: Pick<DeployGate, 'expectedStatus'>, { status }: { status: number }) {
  const isExpected = expectedStatus === undefined ? status >= 200 && status <= 299 : status === expectedStatus;
  return isExpected ? undefined : `it answered ${status}, not ${expectedStatus ?? '200 to 299'}`;
}

/** The number in the JSON of an answer with a good status. */
export function httpNumber(
  asked: Pick<DeployGate, 'expectedStatus' | 'valuePath'>,
  answer: JudgeAnswer,
): AnsweredNumber {
  if ('problem' in answer) return { problem: toldProblem(answer.problem) };
  const problem = statusProblem(asked, answer);
  if (problem !== undefined) return { problem };
  const value = numberAt(parsed(answer.body), asked.valuePath);
  const place = asked.valuePath === undefined ? 'the answer' : `${asked.valuePath} of the answer`;
  return value === undefined ? { problem: `${place} is no number` } : { value };
}

/** The only number that a query gave. */
export function prometheusNumber(answer: JudgeAnswer): AnsweredNumber {
  if ('problem' in answer) return { problem: toldProblem(answer.problem) };
  const { status, body } = answer;
  const document = parsed(body);
  if (!isRecord(document)) return { problem: `it answered ${status} without JSON` };
  if (status !== 200 || document['status'] !== 'success') {
    const error = document['error'];
    return { problem: toldProblem(`it answered ${status}${typeof error === 'string' ? `: ${error}` : ''}`) };
  }
  const samples = samplesOf(document['data']);
  if (!samples) return { problem: 'the query gives neither a scalar nor an instant vector' };
  if (samples.length !== 1) return { problem: `the query gives ${samples.length} values, not one` };
  const value = Number(samples[0] === '' ? Number.NaN : samples[0]);
  return Number.isFinite(value) ? { value } : { problem: toldProblem(`the query gives ${samples[0]}`) };
}

/** Values of a result, as Prometheus writes them: [time, text]. */
function samplesOf(data: unknown): string[] | undefined {
  if (!isRecord(data)) return undefined;
  const { resultType, result } = data;
  if (!Array.isArray(result)) return undefined;
  const values: unknown[] | undefined =
    resultType === 'scalar'
      ? [result]
      : resultType === 'vector'
        ? result.map((sample: unknown) => (isRecord(sample) ? sample['value'] : undefined))
        : undefined;
  return values?.map((pair) => (Array.isArray(pair) && typeof pair[1] === 'string' ? pair[1] : ''));
}

function compared(threshold: GateThreshold, answered: AnsweredNumber): Measured {
  if ('problem' in answered) return inconclusive(answered.problem);
  const { value } = answered;
  if (meets(threshold, value)) return { outcome: 'PASSED', value };
  return { outcome: 'FAILED', value, message: `${value} is not ${thresholdText(threshold)}` };
}

export function meets({ operator, value: limit }: GateThreshold, value: number): boolean {
  switch (operator) {
    case 'LT':
      return value < limit;
    case 'LTE':
      return value <= limit;
    case 'GT':
      return value > limit;
    case 'GTE':
      return value >= limit;
  }
}

/** The number at a path of members and positions with dots between them; absent: the answer itself. */
function numberAt(document: unknown, path: string | undefined): number | undefined {
  let found = document;
  for (const name of path?.split('.') ?? []) {
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
    found = isThere ? (found as Record<string, unknown>)[name] : undefined;
  }
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The deploys that are compared. */
export interface ComparedDeploys {
  requestId: string;
  deployId: string;
  /** Absent: the request has no other version yet. */
  activeDeployId?: string;
}

const variable = /\$(REQUEST_ID|DEPLOY_ID|ACTIVE_DEPLOY_ID)\b/g;

/** Fills the variables of a query or an address in; `encode` makes a value safe where it stands. undefined: there is nothing to compare with. */
export function fillVariables(
  text: string,
  { requestId, deployId, activeDeployId }: ComparedDeploys,
  encode: (value: string) => string = (value) => value,
): string | undefined {
  const values: Record<string, string | undefined> = {
    REQUEST_ID: requestId,
    DEPLOY_ID: deployId,
    ACTIVE_DEPLOY_ID: activeDeployId,
  };
  const names = [...text.matchAll(variable)].map(([, name]) => name!);
  if (names.some((name) => values[name] === undefined)) return undefined;
  return text.replaceAll(variable, (_whole, name: string) => encode(values[name]!));
}
