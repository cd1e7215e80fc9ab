import type { DeployGate, GateMeasurement, GateOperator, GateRow, GateThreshold } from '../model/gate.js';

export const secondsText = (millis: number): string => `${millis / 1000} s`;

const operatorWords: Record<GateOperator, string> = { LT: 'below', LTE: 'at most', GT: 'above', GTE: 'at least' };

export const thresholdText = ({ operator, value }: GateThreshold): string => `${operatorWords[operator]} ${value}`;

/** What an open gate waits for, as a sentence. `last`: its newest measurement; `approvers`: those who may answer it. */
export function waitText(
  gate: DeployGate,
  row: GateRow,
  { until, last, approvers }: { until?: string; last?: GateMeasurement; approvers: string },
): string {
  const name = `Gate ${row.gate} (${row.type}) after step ${row.step}`;
  const end = until === undefined ? '' : `, until ${until}`;
  const asked = gate.message === undefined ? '' : ` (${gate.message})`;
  if (row.type === 'MANUAL') return `${name} waits for an approval${asked} by ${approvers}${end}`;
  if (row.state === 'PAUSED') return `${name} is paused: ${row.message}; approve or reject it: ${approvers}`;
  if (row.type === 'BAKE') return `${name} waits for a healthy time of ${secondsText(gate.durationMillis!)}${end}`;
  const measured = last === undefined ? 'nothing is measured yet' : `last measurement ${measurementText(last)}`;
  const need = gate.threshold === undefined ? '' : ` with a value ${thresholdText(gate.threshold)}`;
  return `${name} has ${row.passes} of ${gate.count ?? 1} measurements${need}; ${measured}`;
}

const measurementText = ({ outcome, value, message }: GateMeasurement): string =>
  `${outcome}${value === undefined ? '' : ` with ${value}`}${message === undefined ? '' : `: ${message}`}`;
