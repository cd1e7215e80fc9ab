import type { FieldError } from '../field-error.js';
import type { HealthSettings } from '../health/index.js';
import type { Deploy } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import type { RecordLimits } from '../record-size.js';

export interface ResourceLimits {
  defaultCpus: number;
  defaultMemory: number;
  defaultDisk: number;
  maxNumCpusPerInstance: number;
  maxMemoryMbPerInstance: number;
  maxDiskMbPerInstance: number;
  maxNumCpusPerRequest: number;
  maxMemoryMbPerRequest: number;
  maxDiskMbPerRequest: number;
}

export interface DeployValidationSettings extends HealthSettings, RecordLimits {
  cluster: ResourceLimits & {
    local: { honorRunningSentinel: boolean; containers: { dockerStopTimeout: number } };
  };
  hardKillAfterMillis: number;
  maxDeployIdSize: number;
  maxRunIdSize: number;
  /** Fixed ports that may be asked, besides those of a task. */
  healthcheckPortNumbers: readonly number[];
  healthcheckMaxTotalTimeoutSeconds?: number | undefined;
  killTaskIfNotHealthyAfterSeconds: number;
  maxRunNowTaskLaunchDelayDays: number;
  enforceSignedArtifacts: boolean;
  /** Absent: there is no load balancer. */
  loadBalancerUri?: string | undefined;
  auth: { enabled: boolean };
  prometheus: { uri?: string | undefined };
  /** Empty: any. */
  validDockerRegistries: readonly string[];
  defaultTaskPriorityLevel: number;
  defaultTaskPriorityLevelForRequestType: Readonly<Record<string, number>>;
}

export interface DeployValidationContext {
  /** The request as it will be when the deploy is active. */
  request: Request;
  settings: DeployValidationSettings;
  /** Lowest level that the priority freeze in force allows, if there is one. */
  minimumPriorityLevel?: number;
  /** Buckets that its files may be uploaded to; absent: any. */
  uploadBuckets?: readonly string[] | undefined;
  /** Whether a gate may ask a host; absent: it may ask any. */
  mayAskHost?: (host: string) => boolean;
  /** It was accepted before, and is deployed again: it may be as large as it is. */
  isStored?: boolean;
  now: number;
}

/** One rule, or a few that belong together. Fields are named below "deploy". */
export type DeployRule = (deploy: Deploy, context: DeployValidationContext) => FieldError[];

/** The error of a field of the deploy when `broken`; message begins with the field's name. */
export const problem = (broken: boolean, field: string, rule: string, message: string): FieldError[] =>
  broken ? [{ field: `deploy.${field}`, rule, message: `deploy.${field} ${message}` }] : [];
