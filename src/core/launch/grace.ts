import { hasContainer, type Deploy } from '../model/deploy.js';

/** Milliseconds between the order to end and SIGKILL. */
export interface GraceRules {
  killGraceMillis: number;
  /** Time for containers with executorData; absent: the one of any other task. */
  containerStopMillis?: number;
}

/** Settings that say how long tasks may take to end. */
export interface GraceSettings {
  hardKillAfterMillis: number;
  /** In seconds. */
  cluster: { local: { containers: { dockerStopTimeout: number } } };
}

export const graceRules = ({ hardKillAfterMillis, cluster }: GraceSettings): Required<GraceRules> => ({
  killGraceMillis: hardKillAfterMillis,
  containerStopMillis: cluster.local.containers.dockerStopTimeout * 1_000,
});

/** A deploy's own time wins. */
export function graceMillis(deploy: Deploy | undefined, { killGraceMillis, containerStopMillis }: GraceRules): number {
  const { executorData } = deploy ?? {};
  const usual = deploy && executorData && hasContainer(deploy) ? containerStopMillis : undefined;
  return deploy?.killGracePeriodMillis ?? executorData?.sigKillProcessesAfterMillis ?? usual ?? killGraceMillis;
}

/** Time for its preStop, which is a part of the grace: half of it, unless the deploy says otherwise. */
export const preStopMillis = ({ preStop }: Deploy, grace: number): number =>
  preStop?.timeoutMillis ?? Math.floor(grace / 2);
