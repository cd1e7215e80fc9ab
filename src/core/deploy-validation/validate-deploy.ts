import type { FieldError } from '../field-error.js';
import type { Deploy } from '../model/deploy.js';
import { containerRule } from './container-rules.js';
import type { DeployRule, DeployValidationContext } from './context.js';
import { healthcheckRule, loadBalancerPortRule } from './healthcheck-rules.js';
import { idRule, priorityRule, requestIdRule } from './identity-rules.js';
import { labelRule } from './label-rules.js';
import { launchFormRule, reservedNameRule, signatureRule } from './launch-rules.js';
import { loadBalancedRule } from './load-balancer-rules.js';
import { resourceRule } from './resource-rules.js';
import { runImmediatelyRule } from './run-rules.js';

/** In the order in which a caller is told; the first broken rule becomes the message of the answer. */
const rules: readonly DeployRule[] = [
  idRule,
  requestIdRule,
  reservedNameRule,
  launchFormRule,
  containerRule,
  healthcheckRule,
  loadBalancedRule,
  loadBalancerPortRule,
  resourceRule,
  labelRule,
  signatureRule,
  runImmediatelyRule,
  priorityRule,
];

/** Every rule that a deploy in normal form breaks. Whether its id is new is for the database to say. */
export const validateDeploy = (deploy: Deploy, context: DeployValidationContext): FieldError[] =>
  rules.flatMap((rule) => rule(deploy, context));
