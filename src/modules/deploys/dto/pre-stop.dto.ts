import { IsOptional } from 'class-validator';
import type { PreStop, PreStopCall } from '../../../core/model/deploy.js';
import { Int32, Nested, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** A day. */
export const longestGraceMillis = 86_400_000;

/** A call of a port of the task. */
export class PreStopCallDto implements PreStopCall {
  /** Path to ask for, by GET. */
  @Since('muster')
  @Text('uri')
  uri: string;
  /** Index of the port among the ports of the task, from 0. Default: 0. */
  @Since('muster')
  @IsOptional()
  @Int32()
  portIndex?: number;
}

/** Work that is done before a task is signalled to end; one of command and http. However it goes, the end goes on. */
export class PreStopDto implements PreStop {
  /** A line for a shell, run in the sandbox, as the user and with the variables of the task. */
  @Since('muster')
  @IsOptional()
  @Text('command')
  command?: string;
  /** A call of the task, whose answer is waited for. */
  @Since('muster')
  @IsOptional()
  @Nested(() => PreStopCallDto)
  http?: PreStopCallDto;
  /** Milliseconds that it may take, a part of killGracePeriodMillis. Default: half of that. */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: longestGraceMillis })
  timeoutMillis?: number;
}
