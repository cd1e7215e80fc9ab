import { type FieldError, type KindMember, kindProblems } from '../field-error.js';
import { isLongRunning } from '../model/enums.js';
import { type DeployGate, type GateType, gateTypes } from '../model/gate.js';
import { type DeployRule, type DeployValidationContext, problem } from './context.js';

/** Members with the types of gates that they are for, and those types that need them. */
const membersOfTypes: readonly KindMember<Exclude<keyof DeployGate, 'type' | 'message'>, GateType>[] = [
  { member: 'requireOtherApprover', for: ['MANUAL'] },
  { member: 'timeoutMillis', for: ['MANUAL'] },
  { member: 'durationMillis', for: ['BAKE'], requiredFor: ['BAKE'] },
  { member: 'uri', for: ['HTTP', 'PROMETHEUS'], requiredFor: ['HTTP'] },
  { member: 'method', for: ['HTTP'] },
  { member: 'expectedStatus', for: ['HTTP'] },
  { member: 'valuePath', for: ['HTTP'] },
  { member: 'query', for: ['PROMETHEUS'], requiredFor: ['PROMETHEUS'] },
  { member: 'threshold', for: ['HTTP', 'PROMETHEUS'], requiredFor: ['PROMETHEUS'] },
  { member: 'intervalMillis', for: ['HTTP', 'PROMETHEUS'] },
  { member: 'count', for: ['HTTP', 'PROMETHEUS'] },
  { member: 'failureLimit', for: ['HTTP', 'PROMETHEUS'] },
  { member: 'inconclusiveLimit', for: ['HTTP', 'PROMETHEUS'] },
  { member: 'inconclusive', for: ['HTTP', 'PROMETHEUS'] },
];

/** Most groups of a deploy with gates. */
const mostCycles = 100;

export const gateRule: DeployRule = ({ canaryDeploySettings }, context) => {
  const gates = canaryDeploySettings?.gates;
  if (!gates) return [];
  const { requestType } = context.request;
  return [
    ...problem(
      !isLongRunning(requestType),
      'canaryDeploySettings.gates',
      'requestType',
      `are for SERVICE and WORKER requests only, this one is ${requestType}`,
    ),
    ...problem(
      canaryDeploySettings.canaryCycleCount > mostCycles,
      'canaryDeploySettings.canaryCycleCount',
      'max',
      `must be at most ${mostCycles} with gates, whose results are kept for each step`,
    ),
    ...gates.flatMap((gate, index) => gateProblems(gate, `canaryDeploySettings.gates.${index}`, context)),
  ];
};

function gateProblems(gate: DeployGate, field: string, context: DeployValidationContext): FieldError[] {
  const { type, requireOtherApprover, valuePath, threshold } = gate;
  if (!gateTypes.includes(type)) return [];
  return [
    ...kindProblems(gate, `deploy.${field}`, { word: 'type', kind: type }, membersOfTypes),
    ...problem(
      requireOtherApprover === true && !context.settings.auth.enabled,
      `${field}.requireOtherApprover`,
      'auth',
      'needs auth.enabled: without it every caller is the same user',
    ),
    ...problem(
      valuePath !== undefined && threshold === undefined,
      `${field}.valuePath`,
      'threshold',
      'needs a threshold, with which its value is compared',
    ),
    ...targetProblems(gate, field, context),
  ];
}

function targetProblems(gate: DeployGate, field: string, context: DeployValidationContext): FieldError[] {
  const broken = addressProblem(gate, {
    prometheusUri: context.settings.prometheus.uri,
    mayAskHost: context.mayAskHost,
  });
  return broken ? problem(true, `${field}.uri`, broken.rule, broken.text) : [];
}

/** What is wrong with the address of a gate, or of the metric of autoscaling. The operator's Prometheus is asked wherever it is. */
export function addressProblem(
  { type, uri }: { type: string; uri?: string },
  { prometheusUri, mayAskHost }: { prometheusUri?: string | undefined; mayAskHost?: (host: string) => boolean },
): { rule: string; text: string } | undefined {
  if (uri === undefined) {
    if (type !== 'PROMETHEUS' || prometheusUri !== undefined) return undefined;
    return { rule: 'required', text: 'is required for PROMETHEUS: the setting prometheus.uri is not set' };
  }
  // Variables stand in the path or the query, never in the host.
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.password;
  if (!isWeb) return { rule: 'uri', text: 'must be an http or https URL without user and password' };
  if (mayAskHost?.(url.hostname) !== false) return undefined;
  return { rule: 'allowedTargets', text: 'must lead to one of the targets that gates.allowedTargets lists' };
}
