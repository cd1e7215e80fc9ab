import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { Nested, Text } from '../../../platform/http/fields.js';
import { QueryBoolean } from '../../../platform/http/query.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import { DeployDto } from '../dto/deploy.dto.js';
import { PlanDeployQuery } from '../dto/deploy-request.dto.js';

/** A request and a deploy of it as they are to be: one of them at least. */
export class ApplyDto {
  /** The request as a whole: members that are left out are cleared. */
  @IsOptional()
  @Nested(() => RequestDto)
  request?: RequestDto;
  /** Deploy that the request is to run. Without an id it gets one that is made from its content. */
  @IsOptional()
  @Nested(() => DeployDto)
  deploy?: DeployDto;
  /** Unpause a paused request when the deploy succeeds. */
  @IsOptional()
  @IsBoolean()
  unpauseOnSuccessfulDeploy?: boolean;
  /** Reason for the deploy. */
  @IsOptional()
  @Text('message')
  message?: string;
}

/** Parameters of an apply. */
export class ApplyQuery extends PlanDeployQuery {
  /** Say what would be done, and do nothing. */
  @QueryBoolean()
  dryRun?: boolean;
}

const requestOutcomes = ['CREATED', 'CHANGED', 'UNCHANGED'] as const;
const deployOutcomes = ['STARTED', 'IN_PROGRESS', 'UNCHANGED'] as const;
export type AppliedRequest = (typeof requestOutcomes)[number];
export type AppliedDeploy = (typeof deployOutcomes)[number];

/** Result of an apply, or of its dry run. */
export class AppliedDto {
  /** Id of the request. */
  requestId: string;
  /** Result for the request; absent: none was sent. */
  @ApiProperty({ enum: requestOutcomes, enumName: 'AppliedRequest' })
  request?: AppliedRequest;
  /** Result for the deploy; IN_PROGRESS: an earlier call started it. Absent: none was sent. */
  @ApiProperty({ enum: deployOutcomes, enumName: 'AppliedDeploy' })
  deploy?: AppliedDeploy;
  /** The deploy that was started, or that runs what was sent; the id that was made where none was sent. */
  deployId?: string;
  /** Names of the fields that differ from what was there, such as `request.instances` and `deploy.env.COLOUR`. */
  changes: string[];
  /** Members that were left out of a deploy that is started, with their defaults; for people. */
  notes: string[];
}
