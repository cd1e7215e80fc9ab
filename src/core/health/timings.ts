import type { Deploy, HealthcheckOptions } from '../model/deploy.js';
import { initMillis } from '../model/deploy-tasks.js';

/** A deploy's health check with every gap filled from the settings. All times in milliseconds. */
export interface HealthcheckTimings {
  /** Time after TASK_RUNNING during which refused connections are tolerated. */
  startupTimeoutMillis: number;
  /** Wait before the very first check; absent: one startup interval. */
  startupDelayMillis?: number;
  startupIntervalMillis: number;
  intervalMillis: number;
  responseTimeoutMillis: number;
  /** Absent: unlimited. */
  maxRetries?: number;
  failureStatusCodes: readonly number[];
  /** Startup time plus the longest time that all attempts can take, unless the deploy allows less. */
  totalMillis: number;
}

const millis = (seconds: number): number => seconds * 1000;

/** `longestSeconds`: what the deploy wants it to take in all at most. */
export function healthcheckTimings(
  options: HealthcheckOptions,
  settings: HealthSettings,
  longestSeconds?: number,
): HealthcheckTimings {
  const startupDelaySeconds = options.startupDelaySeconds ?? settings.startupDelaySeconds;
  const startupTimeoutMillis = millis(options.startupTimeoutSeconds ?? settings.startupTimeoutSeconds);
  const intervalMillis = millis(options.intervalSeconds ?? settings.healthcheckIntervalSeconds);
  const responseTimeoutMillis = millis(options.responseTimeoutSeconds ?? settings.healthcheckTimeoutSeconds);
  const maxRetries = options.maxRetries ?? settings.healthcheckMaxRetries;
  const attemptsMillis = (intervalMillis + responseTimeoutMillis) * ((maxRetries ?? 0) + 1);
  return {
    startupTimeoutMillis,
    startupDelayMillis: startupDelaySeconds === undefined ? undefined : millis(startupDelaySeconds),
    startupIntervalMillis: millis(options.startupIntervalSeconds ?? settings.startupIntervalSeconds),
    intervalMillis,
    responseTimeoutMillis,
    maxRetries,
    failureStatusCodes: options.failureStatusCodes ?? settings.healthcheckFailureStatusCodes,
    totalMillis: Math.min(startupTimeoutMillis + attemptsMillis, millis(longestSeconds ?? Infinity)),
  };
}

/** Time that a task without health checks must run before it counts as healthy. */
export const healthyAfterRunningMillis = (deploy: Deploy, settings: HealthSettings): number =>
  millis(deploy.considerHealthyAfterRunningForSeconds ?? settings.considerTaskHealthyAfterRunningForSeconds);

/** Time limit for a deploy to become healthy, health checks not included. */
export const deployHealthTimeoutMillis = (deploy: Deploy, settings: HealthSettings): number =>
  millis(deploy.deployHealthTimeoutSeconds ?? settings.deployHealthyBySeconds) + initMillis(deploy.tasks);

/** The settings that fill in what a deploy leaves open. */
export interface HealthSettings {
  healthcheckIntervalSeconds: number;
  healthcheckTimeoutSeconds: number;
  startupTimeoutSeconds: number;
  startupIntervalSeconds: number;
  startupDelaySeconds?: number | undefined;
  /** Absent: any number of attempts. */
  healthcheckMaxRetries?: number | undefined;
  healthcheckFailureStatusCodes: readonly number[];
  considerTaskHealthyAfterRunningForSeconds: number;
  deployHealthyBySeconds: number;
  /** Operators switched health checks off: what runs counts as healthy after its time. */
  healthchecksDisabled?: boolean;
}
