import { hasContainer, type Deploy } from '../model/deploy.js';

/** Milliseconds between the order to end and SIGKILL. */
export interface GraceRules {
  killGraceMillis: number;
  /** Time for containers with executorData; absent: the one of any other task. */
  containerStopMillis?: number;
}

/** A deploy's own time wins. */
export function graceMillis(deploy: Deploy | undefined, { killGraceMillis, containerStopMillis }: GraceRules): number {
  const { executorData } = deploy ?? {};
  const usual = deploy && executorData && hasContainer(deploy) ? containerStopMillis : undefined;
  return deploy?.killGracePeriodMillis ?? executorData?.sigKillProcessesAfterMillis ?? usual ?? killGraceMillis;
}

/** Time for its preStop, which is a part of the grace: half of it, unless the deploy says otherwise. */
export const preStopMillis = ({ preStop }: Deploy, grace: number): number =>
  preStop?.timeoutMillis ?? Math.floor(grace / 2);
