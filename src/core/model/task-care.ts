import type { HealthcheckMethod, HealthcheckProtocol, HealthcheckType, LivenessAction } from './enums.js';

/* Members of a deploy about the checks of its tasks, and about their end. */

export interface HealthcheckOptions {
  type?: HealthcheckType;
  command?: string;
  uri?: string;
  portIndex?: number;
  portNumber?: number;
  protocol?: HealthcheckProtocol;
  method?: HealthcheckMethod;
  startupTimeoutSeconds?: number;
  startupDelaySeconds?: number;
  startupIntervalSeconds?: number;
  intervalSeconds?: number;
  responseTimeoutSeconds?: number;
  maxRetries?: number;
  failureStatusCodes?: number[];
  healthcheckResultFilePath?: string;
  liveness?: LivenessOptions;
}

export interface LivenessOptions {
  uri?: string;
  intervalSeconds?: number;
  timeoutSeconds?: number;
  failureThreshold?: number;
  action?: LivenessAction;
  maxUnhealthyReplacements?: number;
}

export interface PreStop {
  command?: string;
  http?: PreStopCall;
  timeoutMillis?: number;
}

export interface PreStopCall {
  uri: string;
  portIndex?: number;
}
