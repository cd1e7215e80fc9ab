import type { ClusterArtifact, ExecutorData, ObjstoreUploaderFile } from './artifacts.js';
import type { ContainerInfo } from './containers.js';
import { type Int32, type Int64, record } from '../schema.js';

/** What must hold after a group is healthy: TIMED: a wait; CHECKS: the checks of the service. */
export type CanaryAcceptanceMode = 'NONE' | 'TIMED' | 'CHECKS';

/** What one task may use of its machine. */
export interface Resources {
  /** Cores; fractions are allowed. */
  cpus?: number;
  /** Memory in MB. */
  memoryMb?: number;
  /** Number of ports; the task finds them in PORT0, PORT1, ... */
  numPorts?: Int32;
  /** Disk in MB. */
  diskMb?: number;
}

/** How the scheduler asks a task over HTTP whether it is healthy. A status from 200 to 299 means yes. */
export interface HealthcheckOptions {
  /** Path to ask for. */
  uri?: string;
  /** Which of the task's ports to ask, from 0; 0 unless said otherwise. */
  portIndex?: Int32;
  /** A port to ask by its number: one of the task's, or one that the settings allow (healthcheckPortNumbers). */
  portNumber?: Int64;
  /** HTTP or HTTPS, with HTTP/1 or (HTTP2, HTTPS2) HTTP/2; HTTP unless said otherwise. */
  protocol?: 'HTTP' | 'HTTPS' | 'HTTP2' | 'HTTPS2';
  /** GET or POST; GET unless said otherwise. */
  method?: 'GET' | 'POST';
  /** Seconds from the start of the task in which it may refuse connections. */
  startupTimeoutSeconds?: Int32;
  /** Seconds before the first check. */
  startupDelaySeconds?: Int32;
  /** Seconds between checks while connections are refused. */
  startupIntervalSeconds?: Int32;
  /** Seconds between checks after any other failure. */
  intervalSeconds?: Int32;
  /** Seconds one check may take. */
  responseTimeoutSeconds?: Int32;
  /** Failed checks that are forgiven; any number unless said otherwise. */
  maxRetries?: Int32;
  /** Statuses that make the task unhealthy at once. */
  failureStatusCodes?: Int32[];
  /** A file in the sandbox that appears when the task is healthy; its executor then reports the task as running. */
  healthcheckResultFilePath?: string;
}

/** Rolls the deploy out in groups, or all at once, and asks for acceptance before old tasks go. */
export interface CanaryDeploySettings {
  /** Tasks added per group; 1 unless said otherwise. */
  instanceGroupSize?: Int32;
  /**
   * What must hold after a group is healthy: NONE unless said otherwise; TIMED: a wait; CHECKS: the service's checks.
   */
  acceptanceMode?: CanaryAcceptanceMode;
  /** Milliseconds to wait after each group, when the mode is TIMED; 0 unless said otherwise. */
  waitMillisBetweenGroups?: Int64;
  /** Failed tasks that are forgiven and replaced within each group; 0 unless said otherwise. */
  allowedTasksFailuresPerGroup?: Int32;
  /** Groups before everything that is left is launched together; 3 unless said otherwise. */
  canaryCycleCount?: Int32;
  /** Roll out in groups; false: all at once, with one swap in the load balancer. False unless said otherwise. */
  enableCanaryDeploy?: boolean;
}

/** One run of a job, with what it changes about its deploy. */
export interface RunNowRequest {
  /** Why it is run. */
  message?: string;
  /** Id to track the run by; a random one unless said otherwise. */
  runId?: string;
  /** Arguments appended to the command. */
  commandLineArgs?: string[];
  /** Further files to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  /** User to run as, in place of the deploy's. */
  runAsUserOverride?: string;
  /** Environment variables in place of, or in addition to, the deploy's. */
  envOverrides?: Record<string, string>;
  /** Attributes that the machine must have, in place of the request's. */
  requiredSlaveAttributeOverrides?: Record<string, string>;
  /** Attributes that the machine may have although it is reserved by them, in place of the request's. */
  allowedSlaveAttributeOverrides?: Record<string, string>;
  /** Further files to fetch into the sandbox. */
  extraArtifacts?: ClusterArtifact[];
  /** When to run, in epoch milliseconds; a time gone by means now. */
  runAt?: Int64;
  /** Skip health checks for this run. */
  skipHealthchecks?: boolean;
  /** Resources in place of the deploy's. */
  resources?: Resources;
}
export const RunNowRequest = record<RunNowRequest>('RunNowRequest');

/** A label of a task. */
export interface ClusterTaskLabel {
  /** Name of the label. */
  key: string;
  /** Value of the label. */
  value?: string;
}

/** One version of what a request runs. */
export interface Deploy {
  /** Request that the deploy belongs to. */
  requestId: string;
  /**
   * Names the deploy within its request, and never another one: letters, digits, '_' and '.'. Made up when the
   * service is set so.
   */
  id?: string;
  /** Command to run. */
  command?: string;
  /** Arguments of the command. */
  arguments?: string[];
  /** Executor that runs executorData. */
  customExecutorCmd?: string;
  /** Id of the executor. */
  customExecutorId?: string;
  /** Source of the executor. */
  customExecutorSource?: string;
  /** Environment variables. */
  env?: Record<string, string>;
  /** Environment variables by instance number. */
  taskEnv?: Record<string, Record<string, string>>;
  /** Files to fetch into the sandbox. */
  uris?: ClusterArtifact[];
  /** Notes of the user; not interpreted. */
  metadata?: Record<string, string>;
  /** Version of what is deployed; not interpreted. */
  version?: string;
  /** A time the user gives the deploy, in epoch milliseconds; not interpreted. */
  timestamp?: Int64;
  /** Labels of the tasks. */
  labels?: Record<string, string>;
  /** The same labels as a list. */
  clusterLabels?: ClusterTaskLabel[];
  /** Labels by instance number. */
  taskLabels?: Record<string, Record<string, string>>;
  /** The same labels by instance number as lists. */
  clusterTaskLabels?: Record<string, ClusterTaskLabel[]>;
  /** Seconds in which the tasks of a step must become healthy, the time for health checks not included. */
  deployHealthTimeoutSeconds?: Int64;
  /** Older form of healthcheck.uri. */
  healthcheckUri?: string;
  /** Older form of healthcheck.intervalSeconds. */
  healthcheckIntervalSeconds?: Int64;
  /** Older form of healthcheck.responseTimeoutSeconds. */
  healthcheckTimeoutSeconds?: Int64;
  /** Older form of healthcheck.portIndex. */
  healthcheckPortIndex?: Int32;
  /** Older form of healthcheck.maxRetries. */
  healthcheckMaxRetries?: Int32;
  /**
   * How long a task of the deploy that runs may take in all until its health check passes; less than what healthcheck
   * adds up to.
   */
  healthcheckMaxTotalTimeoutSeconds?: Int64;
  /** Older form of healthcheck.protocol. */
  healthcheckProtocol?: 'HTTP' | 'HTTPS' | 'HTTP2' | 'HTTPS2';
  /** @deprecated Another spelling of healthcheckProtocol. */
  healthCheckProtocol?: 'HTTP' | 'HTTPS' | 'HTTP2' | 'HTTPS2';
  /** Path of the service at the load balancer. */
  serviceBasePath?: string;
  /** Groups of load balancers that serve it. */
  loadBalancerGroups?: string[];
  /** Which of the task's ports the load balancer uses, from 0. */
  loadBalancerPortIndex?: Int32;
  /** Seconds after which a running task without health check counts as healthy. */
  considerHealthyAfterRunningForSeconds?: Int64;
  /** Options handed to the load balancer. */
  loadBalancerOptions?: Record<string, unknown>;
  /** Domains of the service at the load balancer. */
  loadBalancerDomains?: string[];
  /** Further paths of the service at the load balancer. */
  loadBalancerAdditionalRoutes?: string[];
  /** Template that the load balancer uses. */
  loadBalancerTemplate?: string;
  /** Name of the service at the load balancer, in place of the request's id. */
  loadBalancerServiceIdOverride?: string;
  /** Group of the upstreams at the load balancer. */
  loadBalancerUpstreamGroup?: string;
  /** Tasks replaced per step; all at once unless said otherwise. */
  deployInstanceCountPerStep?: Int32;
  /** Milliseconds between a finished step and the next one. */
  deployStepWaitTimeMs?: Int32;
  /** Failed tasks that the deploy forgives and replaces. */
  maxTaskRetries?: Int32;
  /**
   * Roll out with the canary engine; its wishes come before those of deployInstanceCountPerStep and its kin. An
   * addition of version 1.5 of this API.
   */
  canaryDeploySettings?: CanaryDeploySettings;
  /** User to run as. */
  user?: string;
  /** Files of the sandbox to upload to the object store. */
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFile[];
  /** Container to run the command in. */
  containerInfo?: ContainerInfo;
  /** Resources of the executor itself. */
  customExecutorResources?: Resources;
  /** Resources of each task. */
  resources?: Resources;
  /** A run that starts as soon as the deploy is active; for SCHEDULED and ON_DEMAND requests. */
  runImmediately?: RunNowRequest;
  /** What the executor is to do. */
  executorData?: ExecutorData;
  /** How tasks are asked whether they are healthy; without it, running for a while counts as healthy. */
  healthcheck?: HealthcheckOptions;
  /** Do not wait for health checks while deploying. */
  skipHealthchecksOnDeploy?: boolean;
  /** Go on to the next step by itself; true unless said otherwise. */
  autoAdvanceDeploySteps?: boolean;
  /** Hand the command to a shell; false: start it directly. */
  shell?: boolean;
}
