import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import type { ProgramSpec, DeployTasks, SidecarResources, SidecarTask, StepTask } from '../../../core/model/deploy.js';
import { programNames } from '../../../core/model/deploy-tasks.js';
import { Decimal, Int32, Nested, NestedList, Text, TextMap, Texts } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** Most programs of each kind. */
const mostPrograms = 10;
const longestStepMillis = 86_400_000;

/** What all programs around the main one have. */
class ProgramSpecDto implements ProgramSpec {
  /** Unique among the programs of the task: small letters, digits and '-'. Its output is in `<name>.stdout` and `<name>.stderr`. */
  @Since('muster')
  @ApiProperty({ pattern: programNames.pattern.source })
  @Text('name', programNames.longest)
  name: string;
  /** Command to run: a line for a shell, or with arguments a program. */
  @Since('muster')
  @Text('command')
  command: string;
  /** Arguments of the command, each as it is: no shell reads them. */
  @Since('muster')
  @IsOptional()
  @Texts('command')
  arguments?: string[];
  /** Environment variables besides those of the task, over which they win. */
  @Since('muster')
  @IsOptional()
  @TextMap()
  env?: Record<string, string>;
}

/** A program that runs before or after the main one, to its end. */
export class StepTaskDto extends ProgramSpecDto implements StepTask {
  /** Milliseconds after which it is killed, and has failed. Default: 300000. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: longestStepMillis })
  timeoutMillis?: number;
}

/** Resources of a sidecar, on top of those of the deploy. */
export class SidecarResourcesDto implements SidecarResources {
  /** Cores. Default: 0. */
  @Since('muster')
  @IsOptional()
  @Decimal()
  cpus?: number;
  /** Megabytes. Default: 0. */
  @Since('muster')
  @IsOptional()
  @Decimal()
  memoryMb?: number;
}

/** A program that runs beside the main one, and is started again when it ends. */
export class SidecarTaskDto extends ProgramSpecDto implements SidecarTask {
  /** Added to the resources of the deploy: the sum is placed, and is the limit of all programs together. Default: it shares those. */
  @Since('muster')
  @IsOptional()
  @Nested(() => SidecarResourcesDto)
  resources?: SidecarResourcesDto;
}

/** Programs around the main one of each task. They share its sandbox, user, ports and limits. */
export class DeployTasksDto implements DeployTasks {
  /** Run before the main program, in their order. The first one that does not end with exit code 0 fails the task. */
  @Since('muster')
  @IsOptional()
  @NestedList(() => StepTaskDto, mostPrograms)
  init?: StepTaskDto[];
  /** Begin after init and before the main program, and end after it. */
  @Since('muster')
  @IsOptional()
  @NestedList(() => SidecarTaskDto, mostPrograms)
  sidecars?: SidecarTaskDto[];
  /** Run after the main program and the sidecars have ended, in their order, however the main program ended. */
  @Since('muster')
  @IsOptional()
  @NestedList(() => StepTaskDto, mostPrograms)
  post?: StepTaskDto[];
}
