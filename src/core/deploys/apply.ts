import { normalizeDeploy } from '../deploy-validation/normalize-deploy.js';
import type { Deploy } from '../model/deploy.js';
import { diffFields } from '../plan/diff.js';

export type DeployToApply =
  /** It runs, or is on its way, under this id. */
  | { kind: 'unchanged' | 'inProgress'; deployId: string }
  /** `changes`: names of the fields by which it differs from what is there; none where nothing is. */
  | { kind: 'start'; changes: string[] };

/** Notes on members that a deploy leaves to the service, for those who may have forgotten them. */
export function leftOut({ resources }: Deploy, defaults: { defaultCpus: number; defaultMemory: number }): string[] {
  if (resources) return [];
  const { defaultCpus: cpus, defaultMemory: memory } = defaults;
  return [`deploy.resources is left out: ${cpus} ${cpus === 1 ? 'core' : 'cores'}, ${memory} MB by default`];
}

/** Decides the steps after which a request runs the wanted deploy. A deploy in progress is the one it will run. */
export function decideApply(
  wanted: Deploy,
  present: { deploy: Deploy; inProgress: boolean } | undefined,
): DeployToApply {
  if (!present) return { kind: 'start', changes: [] };
  const { deploy, inProgress } = present;
  // Stored by an earlier version it may lack what is filled in now.
  const changes = diffFields(normalizeDeploy(deploy), { ...wanted, id: deploy.id }, 'deploy').map(({ path }) => path);
  if (changes.length > 0) return { kind: 'start', changes };
  return { kind: inProgress ? 'inProgress' : 'unchanged', deployId: deploy.id };
}
