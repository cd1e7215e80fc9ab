import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { normalizeDeploy } from '../../../core/deploy-validation/index.js';
import type { Deploy } from '../../../core/model/deploy.js';
import {
  deployStrategies,
  type DeployStrategy,
  healthcheckProtocols,
  type HealthcheckProtocol,
  killSignals,
  type KillSignal,
} from '../../../core/model/enums.js';
import {
  AnyObject,
  everyValue,
  Int32,
  MayBeLeftOut,
  is,
  Nested,
  NestedList,
  OneOf,
  raw,
  TextMap,
  TextMaps,
  Texts,
  Timestamp,
  Text,
  Seconds,
  Small,
} from '../../../platform/http/fields.js';
import { mostMembers } from '../../../platform/http/input-limits.js';
import {
  Artifacts,
  ClusterArtifactDto,
  ExecutorDataDto,
  ObjstoreUploaderFileDto,
  UploaderFiles,
} from './artifacts.dto.js';
import { ContainerInfoDto, SecretVariableDto } from './container-info.dto.js';
import { CanaryDeploySettingsDto, ResourcesDto, RunNowRequestDto } from './deploy-options.dto.js';
import { DeployTasksDto } from './deploy-tasks.dto.js';
import { HealthcheckOptionsDto } from './healthcheck.dto.js';
import { longestGraceMillis, PreStopDto } from './pre-stop.dto.js';
import { ClusterTaskLabelDto, isLabelList } from './task-label.dto.js';
import { Since } from '../../../platform/http/since.js';

/** One version of what a request runs. */
export class DeployDto implements Deploy {
  /** Request that the deploy belongs to. */
  @Text('name')
  requestId: string;
  /** Names the deploy within its request, and never another one: letters, digits, '_' and '.'. Made up when the service is set so. */
  @ApiProperty({ pattern: '^[a-zA-Z0-9_.]+$' })
  @MayBeLeftOut()
  @Text('name')
  id: string;
  /** Command to run: a line for a shell, or with arguments (or an image) a program. */
  @IsOptional()
  @Text('command')
  command?: string;
  /** Arguments of the command, each as it is: no shell reads them. */
  @IsOptional()
  @Texts('command')
  arguments?: string[];
  /** Container to run the command in. */
  @IsOptional()
  @Nested(() => ContainerInfoDto)
  containerInfo?: ContainerInfoDto;
  /**
   * Goes with executorData: the task is run by the executor, which is the agent itself, whatever path stands here.
   */
  @IsOptional()
  @Text('command')
  customExecutorCmd?: string;
  /** Id of the executor; kept and shown. */
  @IsOptional()
  @Text('name')
  customExecutorId?: string;
  /** Source of the executor; kept and shown. */
  @IsOptional()
  @Text('name')
  customExecutorSource?: string;
  /** Resources of the executor itself, asked for on top of those of the task. */
  @IsOptional()
  @Nested(() => ResourcesDto)
  customExecutorResources?: ResourcesDto;
  /**
   * Resources of each task. Default: the settings cluster.defaultCpus (1), cluster.defaultMemory (64) and
   * cluster.defaultDisk (0), where resources is left out as a whole.
   */
  @IsOptional()
  @Nested(() => ResourcesDto)
  resources?: ResourcesDto;
  /** Environment variables. In a value ${TASK_ID}, ${TASK_HOST} and the like stand for what the task is. */
  @IsOptional()
  @TextMap()
  env?: Record<string, string>;
  /** Environment variables of single instances, by instance number; they win over env. */
  @IsOptional()
  @TextMaps()
  taskEnv?: Record<string, Record<string, string>>;
  /**
   * Environment variables with values of secrets in the namespace of tasks, on Kubernetes. Settings allow secrets by name; Muster never
   * reads their values. They win over all variables but those that a run overrides.
   */
  @Since('muster')
  @IsOptional()
  @NestedList(() => SecretVariableDto)
  secretEnv?: SecretVariableDto[];
  /**
   * Service account in the namespace of tasks, on Kubernetes, whose token its tasks get. Settings allow accounts by name. Default: the
   * account of the settings, without a token.
   */
  @Since('muster')
  @IsOptional()
  @Text('name')
  serviceAccount?: string;
  /** A run that starts as soon as the deploy is active; for SCHEDULED and ON_DEMAND requests. */
  @IsOptional()
  @Nested(() => RunNowRequestDto)
  runImmediately?: RunNowRequestDto;
  /** Files to fetch into the sandbox. */
  @IsOptional()
  @Artifacts()
  uris?: ClusterArtifactDto[];
  /** Notes of the user; not interpreted. */
  @IsOptional()
  @TextMap()
  metadata?: Record<string, string>;
  /** Instructions for the executor. */
  @IsOptional()
  @Nested(() => ExecutorDataDto)
  executorData?: ExecutorDataDto;
  /** Version of what is deployed; not interpreted. */
  @IsOptional()
  @Text('name')
  version?: string;
  /** A time the user gives the deploy, in epoch milliseconds; not interpreted. */
  @IsOptional()
  @Timestamp()
  timestamp?: number;
  /** Labels of the tasks. */
  @IsOptional()
  @TextMap()
  labels?: Record<string, string>;
  /** Alternative to labels, as a list. */
  @IsOptional()
  @NestedList(() => ClusterTaskLabelDto)
  clusterLabels?: ClusterTaskLabelDto[];
  /** Labels of single instances, by instance number. */
  @IsOptional()
  @TextMaps()
  taskLabels?: Record<string, Record<string, string>>;
  /** Alternative to the labels by instance number, as lists. */
  @IsOptional()
  @raw((value) => value)
  @is('labels', 'must be a map of instance numbers to lists of {key, value}', (value) => everyValue(value, isLabelList))
  @Small('command')
  @ApiProperty({
    type: 'object',
    maxProperties: mostMembers,
    additionalProperties: { type: 'array', maxItems: mostMembers, items: { $ref: getSchemaPath(ClusterTaskLabelDto) } },
  })
  clusterTaskLabels?: Record<string, ClusterTaskLabelDto[]>;
  /**
   * Seconds in which the tasks of a step must become healthy, the time for health checks and the limits of init steps not included. Default: the
   * setting deployHealthyBySeconds (120).
   */
  @IsOptional()
  @Seconds()
  deployHealthTimeoutSeconds?: number;
  /** Older form of healthcheck.uri. */
  @IsOptional()
  @Text('uri')
  healthcheckUri?: string;
  /** Older form of healthcheck.intervalSeconds. */
  @IsOptional()
  @Seconds()
  healthcheckIntervalSeconds?: number;
  /** Older form of healthcheck.responseTimeoutSeconds. */
  @IsOptional()
  @Seconds()
  healthcheckTimeoutSeconds?: number;
  /** Older form of healthcheck.portIndex. */
  @IsOptional()
  @Int32()
  healthcheckPortIndex?: number;
  /** Older form of healthcheck.maxRetries. */
  @IsOptional()
  @Int32()
  healthcheckMaxRetries?: number;
  /**
   * The most seconds from the start of a task until its health check passes, where that is less than what healthcheck
   * adds up to.
   */
  @IsOptional()
  @Seconds()
  healthcheckMaxTotalTimeoutSeconds?: number;
  /** Older form of healthcheck.protocol. */
  @IsOptional()
  @OneOf(healthcheckProtocols)
  healthcheckProtocol?: HealthcheckProtocol;
  /** Another spelling of healthcheckProtocol. */
  @ApiProperty({ writeOnly: true })
  @IsOptional()
  @OneOf(healthcheckProtocols)
  healthCheckProtocol?: HealthcheckProtocol;
  /** Health check of its tasks; without it, running for a while counts as healthy. */
  @IsOptional()
  @Nested(() => HealthcheckOptionsDto)
  healthcheck?: HealthcheckOptionsDto;
  /** Path of the service at the load balancer. */
  @IsOptional()
  @Text('path')
  serviceBasePath?: string;
  /** Groups of load balancers that serve it. */
  @IsOptional()
  @Texts('name')
  loadBalancerGroups?: string[];
  /** Index of the port that the load balancer uses among the ports of a task, from 0. Default: 0. */
  @IsOptional()
  @Int32()
  loadBalancerPortIndex?: number;
  /**
   * Seconds after which a running task without health check counts as healthy. Default: the setting
   * considerTaskHealthyAfterRunningForSeconds (5).
   */
  @IsOptional()
  @Seconds()
  considerHealthyAfterRunningForSeconds?: number;
  /** Options handed to the load balancer. */
  @IsOptional()
  @AnyObject()
  loadBalancerOptions?: Record<string, Record<string, unknown>>;
  /** Domains of the service at the load balancer. */
  @IsOptional()
  @Texts('uri')
  loadBalancerDomains?: string[];
  /** Further paths of the service at the load balancer. */
  @IsOptional()
  @Texts('uri')
  loadBalancerAdditionalRoutes?: string[];
  /** Template that the load balancer uses. */
  @IsOptional()
  @Text('name')
  loadBalancerTemplate?: string;
  /** Name of the service at the load balancer. Default: the id of the request. */
  @IsOptional()
  @Text('name')
  loadBalancerServiceIdOverride?: string;
  /** Group of the upstreams at the load balancer. */
  @IsOptional()
  @Text('name')
  loadBalancerUpstreamGroup?: string;
  /** Do not wait for health checks while deploying. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecksOnDeploy?: boolean;
  /** Tasks replaced in a step. Default: all at once. */
  @IsOptional()
  @Int32({ min: 1 })
  deployInstanceCountPerStep?: number;
  /** Milliseconds between a finished step and the next one. Default: the setting defaultDeployStepWaitTimeMs (0). */
  @IsOptional()
  @Int32()
  deployStepWaitTimeMs?: number;
  /** Go on to the next step without being asked. Default: true. */
  @IsOptional()
  @IsBoolean()
  autoAdvanceDeploySteps?: boolean;
  /** Failed tasks that the deploy forgives and replaces. Default: the setting defaultDeployMaxTaskRetries (0). */
  @IsOptional()
  @Int32()
  maxTaskRetries?: number;
  /** Roll out with the canary engine; its wishes come before those of deployInstanceCountPerStep and its kin. */
  @Since('1.5')
  @IsOptional()
  @Nested(() => CanaryDeploySettingsDto)
  canaryDeploySettings?: CanaryDeploySettingsDto;
  /**
   * Hand the command to a shell; false: start it as a program. Default: true for a command without arguments and image,
   * else false.
   */
  @IsOptional()
  @IsBoolean()
  shell?: boolean;
  /** Account to run as. Default: one of its own for each task, where the agent is root. */
  @IsOptional()
  @Text('name')
  user?: string;
  /**
   * Order of a rollout, a bounce and a replacement: new tasks start before old ones end, or old ones end first, as fixed ports and single
   * licences need. Default: NEW_FIRST.
   */
  @Since('muster')
  @IsOptional()
  @OneOf(deployStrategies, 'DeployStrategy')
  deployStrategy?: DeployStrategy;
  /** With OLD_FIRST: the most instances that may be missing at a time, and so the size of a step. Default: 1. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1 })
  maxUnavailable?: number;
  /** Signal that asks a task to end. Default: SIGTERM; of a container what its image says. */
  @Since('muster')
  @IsOptional()
  @OneOf(killSignals, 'KillSignal')
  killSignal?: KillSignal;
  /**
   * Milliseconds from the order to end until SIGKILL. Default: the setting hardKillAfterMillis (180000); executorData and the settings of
   * containers may say otherwise.
   */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: longestGraceMillis })
  killGracePeriodMillis?: number;
  /** Work that is done before a task is signalled to end, unless it is ended by force. Default: none. */
  @Since('muster')
  @IsOptional()
  @Nested(() => PreStopDto)
  preStop?: PreStopDto;
  /** Programs around the main one: init steps, sidecars and post steps. Default: none. */
  @Since('muster')
  @IsOptional()
  @Nested(() => DeployTasksDto)
  tasks?: DeployTasksDto;
  /** Files of the sandbox to upload to the object store. */
  @IsOptional()
  @UploaderFiles()
  objstoreUploaderAdditionalFiles?: ObjstoreUploaderFileDto[];
  /** The deploy in the form in which it is stored. */
  static toDeploy({ healthCheckProtocol, ...sent }: DeployDto): Deploy {
    return normalizeDeploy({ ...sent, healthcheckProtocol: sent.healthcheckProtocol ?? healthCheckProtocol });
  }
}
