import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import {
  type DeployGate,
  type GateMeasurement,
  type GateOperator,
  gateOperators,
  type GateResult,
  type GateRow,
  type GateState,
  gateStates,
  type GateThreshold,
  type GateType,
  gateTypes,
  type InconclusiveAction,
  inconclusiveActions,
  type MeasurementOutcome,
  measurementOutcomes,
} from '../../../core/model/gate.js';
import { Between, Int32, Millis, Nested, OneOf, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

const time = { type: 'integer', format: 'int64' } as const;
const whole = { type: 'integer', format: 'int32' } as const;
const dayMillis = 86_400_000;
const longestWaitMillis = 30 * dayMillis;
const mostMeasurements = 100;
const greatest = 1e15;

/** Most gates of a deploy. */
export const mostGates = 10;

/** A limit for measured numbers. */
export class GateThresholdDto implements GateThreshold {
  /** A measured number passes if it is less than (LT), at most (LTE), greater than (GT) or at least (GTE) the value. */
  @Since('muster')
  @OneOf(gateOperators, 'GateOperator')
  operator: GateOperator;
  /** The limit. */
  @Since('muster')
  @Between(-greatest, greatest)
  value: number;
}

/** A condition that must hold after each step of a canary deploy, before the next one begins or the deploy succeeds. */
export class DeployGateDto implements DeployGate {
  /**
   * MANUAL: a user approves it; BAKE: the tasks stay healthy for some time; HTTP: a service answers; PROMETHEUS: a query gives a number
   * within a threshold.
   */
  @Since('muster')
  @OneOf(gateTypes, 'GateType')
  type: GateType;
  /** Text for those who look at the gate. */
  @Since('muster')
  @IsOptional()
  @Text('message', 1_000)
  message?: string;
  /** For MANUAL: the user who deployed may not approve it. Default: false. */
  @Since('muster')
  @IsOptional()
  @IsBoolean()
  requireOtherApprover?: boolean;
  /** For MANUAL: milliseconds after which it fails without an answer. Default: it waits. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: 2_147_483_647 })
  timeoutMillis?: number;
  /** For BAKE: milliseconds for which all tasks of the step stay healthy. */
  @Since('muster')
  @IsOptional()
  @Millis(longestWaitMillis)
  durationMillis?: number;
  /**
   * For HTTP: address that is asked. For PROMETHEUS: its address; default: the setting prometheus.uri. $REQUEST_ID, $DEPLOY_ID (the new
   * deploy) and $ACTIVE_DEPLOY_ID (the one that it replaces) stand for these ids.
   */
  @Since('muster')
  @IsOptional()
  @Text('uri', 2_000)
  uri?: string;
  /** For HTTP: method of the call. Default: GET. */
  @Since('muster')
  @IsOptional()
  @OneOf(['GET', 'POST'])
  method?: 'GET' | 'POST';
  /** For HTTP: status of a good answer. Default: any from 200 to 299. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 100, max: 599 })
  expectedStatus?: number;
  /** For HTTP with a threshold: path to the number in the JSON that is answered, such as data.errors or 0.rate. Default: the answer is the number. */
  @Since('muster')
  @IsOptional()
  @Text('name')
  valuePath?: string;
  /** For PROMETHEUS: query with exactly one number as its result. The variables are those of uri. */
  @Since('muster')
  @IsOptional()
  @Text('message')
  query?: string;
  /** For PROMETHEUS and HTTP: limit for the measured number. HTTP without it: the status decides. */
  @Since('muster')
  @IsOptional()
  @Nested(() => GateThresholdDto)
  threshold?: GateThresholdDto;
  /** For HTTP and PROMETHEUS: milliseconds between two measurements. Default: 30000. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1_000, max: dayMillis })
  intervalMillis?: number;
  /** For HTTP and PROMETHEUS: passed measurements that it takes. Default: 1. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: mostMeasurements })
  count?: number;
  /** For HTTP and PROMETHEUS: failed measurements that are forgiven. Default: 0. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: mostMeasurements })
  failureLimit?: number;
  /** For HTTP and PROMETHEUS: inconclusive measurements (no answer in time, no number) that are forgiven. Default: failureLimit. */
  @Since('muster')
  @IsOptional()
  @Int32({ max: mostMeasurements })
  inconclusiveLimit?: number;
  /**
   * For HTTP and PROMETHEUS: effect of more inconclusive measurements than that. FAIL: the gate fails; PAUSE: it waits for a user to
   * approve or reject it. Default: FAIL.
   */
  @Since('muster')
  @IsOptional()
  @OneOf(inconclusiveActions, 'InconclusiveAction')
  inconclusive?: InconclusiveAction;
}

/** Answer of a user to a gate. */
export class AnswerGateDto {
  /** Reason, kept with the gate. */
  @IsOptional()
  @Text('message', 1_000)
  message?: string;
  /** Step of the gate, from 1. Default: the present one. */
  @IsOptional()
  @Int32({ min: 1 })
  step?: number;
  /** Number of the gate among those of the deploy, from 1. Default: the one that waits. */
  @IsOptional()
  @Int32({ min: 1, max: mostGates })
  gate?: number;
}

/** One answer that an HTTP or PROMETHEUS gate got. */
export class GateMeasurementDto implements GateMeasurement {
  /** Its time, in epoch milliseconds. */
  @ApiProperty(time)
  at: number;
  /** INCONCLUSIVE: there was no answer in time, or no number in it. */
  @ApiProperty({ enum: measurementOutcomes, enumName: 'MeasurementOutcome' })
  outcome: MeasurementOutcome;
  /** The measured number, if there was one. */
  value?: number;
  /** Reason for which it did not pass. */
  message?: string;
}

/** State of a gate after one step of a deploy. */
export class StepGateDto implements Omit<GateRow, 'nextAt'> {
  /** Number of the step, from 1. */
  @ApiProperty(whole)
  step: number;
  /** Number of the gate among those of the deploy, from 1. */
  @ApiProperty(whole)
  gate: number;
  /** Its type. */
  @ApiProperty({ enum: gateTypes, enumName: 'GateType' })
  type: GateType;
  /** PAUSED: a user has to approve or reject it; CANCELED: the deploy ended for another reason. */
  @ApiProperty({ enum: gateStates, enumName: 'GateState' })
  state: GateState;
  /** Time at which it began to wait, in epoch milliseconds. */
  @ApiProperty(time)
  since: number;
  /** Time at which it was decided, in epoch milliseconds. */
  @ApiProperty(time)
  endedAt?: number;
  /** Number of passed measurements. */
  @ApiProperty(whole)
  passes: number;
  /** Number of failed measurements. */
  @ApiProperty(whole)
  failures: number;
  /** Number of inconclusive measurements. */
  @ApiProperty(whole)
  inconclusive: number;
  /** User who approved or rejected it. */
  user?: string;
  /** Reason of its state. */
  message?: string;
}

/** A gate after one step of a deploy, with all of its measurements. */
export class GateResultDto extends StepGateDto implements GateResult {
  /** Measurements, the oldest first. */
  measurements: GateMeasurementDto[];
}
