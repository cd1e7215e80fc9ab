import type { ClusterDriver, UnsupportedOption } from '../../cluster/cluster-driver.js';
import type { FieldError } from '../../core/field-error.js';
import { hasContainer, type Deploy } from '../../core/model/deploy.js';
import type { RunNowRequest } from '../../core/model/request.js';

/** Names each field of a deploy that the cluster could not honour. */
export const unsupportedDeployErrors = (driver: ClusterDriver, deploy: Deploy, group?: string): FieldError[] =>
  (driver.unsupportedInDeploy?.(deploy, group) ?? []).map((problem) => toError(problem, 'deploy.'));

/** Names each wish of a run that the cluster could not honour. */
export const unsupportedRunErrors = (driver: ClusterDriver, run: RunNowRequest, deploy?: Deploy): FieldError[] =>
  (driver.unsupportedInRun?.(run, deploy) ?? []).map((problem) => toError(problem, ''));

/** Names each account that a deploy asks for and that no task may run as. */
export const refusedUserErrors = (driver: ClusterDriver, deploy: Deploy): Promise<FieldError[]> =>
  refusedUsers(driver, {
    'deploy.user': deploy.user,
    'deploy.executorData.user': deploy.executorData?.user,
    'deploy.runImmediately.runAsUserOverride': deploy.runImmediately?.runAsUserOverride,
  });

/** Problems of the user for a single run. */
export const refusedRunUserErrors = (
  driver: ClusterDriver,
  { runAsUserOverride }: RunNowRequest,
): Promise<FieldError[]> => refusedUsers(driver, { runAsUserOverride });

/** Says why no machine could run the container of a deploy. */
export async function refusedContainerErrors(driver: ClusterDriver, deploy: Deploy): Promise<FieldError[]> {
  const refusal = hasContainer(deploy) ? await driver.refusedContainers?.(deploy) : undefined;
  const field = 'deploy.containerInfo';
  return refusal === undefined ? [] : [{ field, rule: 'supported', message: `${field}: ${refusal}` }];
}

async function refusedUsers(driver: ClusterDriver, users: Record<string, string | undefined>): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [field, user] of Object.entries(users)) {
    const refusal = user === undefined ? undefined : await driver.refusedUser?.(user);
    if (refusal !== undefined) errors.push({ field, rule: 'user', message: `${field}: ${refusal}` });
  }
  return errors;
}

/** Drivers begin a message with a verb or with words of their own; the field stands in front of it in any case. */
const toError = ({ field, message }: UnsupportedOption, parent: string): FieldError => ({
  field: `${parent}${field}`,
  rule: 'supported',
  message: `${parent}${field}: ${message}`,
});
