import { IsBoolean, IsOptional } from 'class-validator';
import { canaryAcceptanceModes, type CanaryAcceptanceMode } from '../../../core/model/enums.js';
import { Int32, Int64, OneOf } from '../../../platform/http/fields.js';

/** Rolls the deploy out in groups, or all at once, and asks for acceptance before old tasks go. */
export class CanaryDeploySettingsDto {
  /** Roll out in groups; false: all at once, with one swap in the load balancer. False unless said otherwise. */
  @IsOptional()
  @IsBoolean()
  enableCanaryDeploy: boolean;
  /** Tasks added per group; 1 unless said otherwise. */
  @IsOptional()
  @Int32({ min: 1 })
  instanceGroupSize: number;
  /** What must hold after a group is healthy: NONE unless said otherwise; TIMED: a wait; CHECKS: the service's checks. */
  @IsOptional()
  @OneOf(canaryAcceptanceModes, 'CanaryAcceptanceMode')
  acceptanceMode: CanaryAcceptanceMode;
  /** Milliseconds to wait after each group, when the mode is TIMED; 0 unless said otherwise. */
  @IsOptional()
  @Int64()
  waitMillisBetweenGroups: number;
  /** Failed tasks that are forgiven and replaced within each group; 0 unless said otherwise. */
  @IsOptional()
  @Int32()
  allowedTasksFailuresPerGroup: number;
  /** Groups before everything that is left is launched together; 3 unless said otherwise. */
  @IsOptional()
  @Int32({ min: 1 })
  canaryCycleCount: number;
}
