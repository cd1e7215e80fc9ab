import { IsBoolean, IsOptional } from 'class-validator';
import type {
  BounceRequest,
  DeleteRequestRequest,
  PauseRequest,
  PriorityRequest,
  ScaleRequest,
  ShellCommand,
  SkipHealthchecksRequest,
  UnpauseRequest,
  UpdateGroupsRequest,
} from '../../../core/model/request.js';
import { Fraction, Int32, Nested, Texts, Text, Millis } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** A command that is run in a task. */
export class ShellCommandDto implements ShellCommand {
  /** Name of the command, one of those the service is configured with. */
  @Text('name')
  name: string;
  /** Options of the command. */
  @IsOptional()
  @Texts('command')
  options?: string[];
  /** Person who asks for it, in the caller's own words; the run itself has the user of its task. */
  @IsOptional()
  @Text('name')
  user?: string;
  /** Stands in the name of the file that its output goes to, in place of the name of the command. */
  @IsOptional()
  @Text('path')
  logfileName?: string;
}

/** Options of a bounce: all tasks of a request are replaced by new ones of the same deploy. */
export class BounceRequestDto implements BounceRequest {
  /** Replace one task after the other; false: start all new ones, then end all old ones. */
  @IsOptional()
  @IsBoolean()
  incremental?: boolean;
  /** The new tasks count as healthy without being checked. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
  /** Milliseconds after which a bounce that is not done is given up; an hour unless configured otherwise. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** An id of your own for this action; a random one unless given. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Reason for the bounce. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Command to run in each task before it is killed. */
  @IsOptional()
  @Nested(() => ShellCommandDto)
  runShellCommandBeforeKill?: ShellCommandDto;
}

/** Options of a pause: no new tasks start until the request is unpaused. */
export class PauseRequestDto implements PauseRequest {
  /**
   * Kill the running tasks at once; true unless configured otherwise. false: runs of jobs may end by themselves, and tasks of a
   * SERVICE or WORKER leave the load balancer before they are killed.
   */
  @IsOptional()
  @IsBoolean()
  killTasks?: boolean;
  /** Milliseconds after which the request is unpaused by itself. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** An id of your own for this action. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Reason for the pause. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Command to run in each task before it is killed. */
  @IsOptional()
  @Nested(() => ShellCommandDto)
  runShellCommandBeforeKill?: ShellCommandDto;
}

/** Options that end a pause. */
export class UnpauseRequestDto implements UnpauseRequest {
  /** Reason for the change. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** An id of your own for this action. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** The tasks that start now count as healthy without being checked. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
}

/** Options that end a cooldown before its time. */
export class ExitCooldownRequestDto extends UnpauseRequestDto {}

/** The number of instances that a request shall have. */
export class ScaleRequestDto implements ScaleRequest {
  /** The new number of instances. To be given, except under compatibility, where it means one when it is absent. */
  @IsOptional()
  @Int32()
  instances?: number;
  /** Milliseconds after which the number found now is restored. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** The tasks that start now count as healthy without being checked. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
  /** An id of your own for this action; a random one unless given. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Reason for the change. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Bounce the request as well; as the request's bounceAfterScale says unless given. */
  @IsOptional()
  @IsBoolean()
  bounce?: boolean;
  /** True if that bounce is incremental; true unless said otherwise. */
  @IsOptional()
  @IsBoolean()
  incremental?: boolean;
  /** Send no mail about it. */
  @IsOptional()
  @IsBoolean()
  skipEmailNotification?: boolean;
}

/** The importance of a request's tasks when not all can run. */
export class PriorityRequestDto implements PriorityRequest {
  /** The new taskPriorityLevel; to be given: null is none, which means that of the request's type. */
  @IsOptional()
  @Fraction()
  priority?: number;
  /** Milliseconds after which the level found now is restored. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** An id of your own for this action; a random one unless given. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Reason for the change. */
  @IsOptional()
  @Text('message')
  message?: string;
}

/** Makes the tasks of a request count as healthy without being checked. */
export class SkipHealthchecksRequestDto implements SkipHealthchecksRequest {
  /** The new value. Back to none: null, or a body without members. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
  /** Milliseconds after which the value found now is restored. */
  @IsOptional()
  @Millis()
  durationMillis?: number;
  /** An id of your own for this action; a random one unless given. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Reason for the change. */
  @IsOptional()
  @Text('message')
  message?: string;
}

/** Options of a deletion. */
export class DeleteRequestRequestDto implements DeleteRequestRequest {
  /** Reason for the deletion. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** An id of your own for this action. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Remove its service from the load balancer as well. */
  @IsOptional()
  @IsBoolean()
  deleteFromLoadBalancer?: boolean;
  /** End its tasks at once by SIGKILL, without the time that a kill leaves them; and remove it although others follow it. */
  @IsOptional()
  @IsBoolean()
  @Since('muster')
  force?: boolean;
  /** Let its runs end by themselves first; nothing new starts meanwhile. Not for SERVICE and WORKER. */
  @IsOptional()
  @IsBoolean()
  @Since('muster')
  waitForTasks?: boolean;
}

/** Groups of a request; all three settings are replaced. */
export class UpdateGroupsRequestDto implements UpdateGroupsRequest {
  /** Group whose members may see and change it. */
  @IsOptional()
  @Text('name')
  group?: string;
  /** Further groups whose members may see and change it. */
  @IsOptional()
  @Texts('name')
  readWriteGroups?: string[];
  /** Groups whose members may see it. */
  @IsOptional()
  @Texts('name')
  readOnlyGroups?: string[];
  /** Reason for the action. */
  @IsOptional()
  @Text('message')
  message?: string;
}
