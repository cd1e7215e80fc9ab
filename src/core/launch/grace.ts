import { hasContainer, type Deploy } from '../model/deploy.js';

/** Milliseconds between SIGTERM and SIGKILL. */
export interface GraceRules {
  killGraceMillis: number;
  /** Time for containers with executorData; absent: the one of any other task. */
  containerStopMillis?: number;
}

/** A deploy's own time wins. */
export function graceMillis(deploy: Deploy | undefined, { killGraceMillis, containerStopMillis }: GraceRules): number {
  const { executorData } = deploy ?? {};
  const usual = deploy && executorData && hasContainer(deploy) ? containerStopMillis : undefined;
  return executorData?.sigKillProcessesAfterMillis ?? usual ?? killGraceMillis;
}
