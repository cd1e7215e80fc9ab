/* Gates: conditions between the steps of a canary deploy. */

/** MANUAL: a person approves; BAKE: a healthy time passes; HTTP, PROMETHEUS: measurements pass. */
export const gateTypes = ['MANUAL', 'BAKE', 'HTTP', 'PROMETHEUS'] as const;
export type GateType = (typeof gateTypes)[number];

/** PAUSED: its measurements decide nothing, a person has to; CANCELED: its deploy ended for another reason while it was open. */
export const gateStates = ['WAITING', 'PAUSED', 'PASSED', 'FAILED', 'CANCELED'] as const;
export type GateState = (typeof gateStates)[number];

/** Less than, at most, greater than, at least. */
export const gateOperators = ['LT', 'LTE', 'GT', 'GTE'] as const;
export type GateOperator = (typeof gateOperators)[number];

/** Consequences of measurements that give no result: the gate fails, or waits for a person. */
export const inconclusiveActions = ['FAIL', 'PAUSE'] as const;
export type InconclusiveAction = (typeof inconclusiveActions)[number];

export const measurementOutcomes = ['PASSED', 'FAILED', 'INCONCLUSIVE'] as const;
export type MeasurementOutcome = (typeof measurementOutcomes)[number];

export interface GateThreshold {
  operator: GateOperator;
  value: number;
}

/** A gate as a deploy asks for it. Which members it may have depends on its type. */
export interface DeployGate {
  type: GateType;
  message?: string;
  requireOtherApprover?: boolean;
  timeoutMillis?: number;
  durationMillis?: number;
  uri?: string;
  method?: 'GET' | 'POST';
  expectedStatus?: number;
  valuePath?: string;
  query?: string;
  threshold?: GateThreshold;
  intervalMillis?: number;
  count?: number;
  failureLimit?: number;
  inconclusiveLimit?: number;
  inconclusive?: InconclusiveAction;
}

/** One answer of an HTTP or PROMETHEUS gate. */
export interface GateMeasurement {
  /** Epoch milliseconds. */
  at: number;
  outcome: MeasurementOutcome;
  value?: number;
  /** Reason for which it did not pass. */
  message?: string;
}

/** A gate after one step of a deploy, from the moment at which it is its turn. Times in epoch milliseconds. */
export interface GateRow {
  /** Number of the step among those of the deploy, from 1. */
  step: number;
  /** Number of the gate in the settings of the deploy, from 1. */
  gate: number;
  type: GateType;
  state: GateState;
  since: number;
  /** Time of the next measurement. */
  nextAt?: number;
  endedAt?: number;
  /** Measurements by their outcome. */
  passes: number;
  failures: number;
  inconclusive: number;
  /** User who approved or rejected it. */
  user?: string;
  /** Reason of its state. */
  message?: string;
}

/** A gate with all that was measured for it, oldest first. */
export interface GateResult extends Omit<GateRow, 'nextAt'> {
  measurements: GateMeasurement[];
}
