import { hasContainer, type Deploy } from '../model/deploy.js';

/** Milliseconds between SIGTERM and SIGKILL. */
export interface GraceRules {
  killGraceMillis: number;
  /** Of containers with executorData; absent: as of any other task. */
  containerStopMillis?: number;
}

/** What a deploy says of itself wins. */
export function graceMillis(deploy: Deploy | undefined, { killGraceMillis, containerStopMillis }: GraceRules): number {
  const { executorData } = deploy ?? {};
  const usual = deploy && executorData && hasContainer(deploy) ? containerStopMillis : undefined;
  return executorData?.sigKillProcessesAfterMillis ?? usual ?? killGraceMillis;
}
