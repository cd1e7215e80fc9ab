import { ApiProperty } from '@nestjs/swagger';
import {
  crashLoopTypes,
  deployStates,
  disasterTypes,
  machineStates,
  requestEventTypes,
  taskStates,
  type CrashLoopType,
  type DeployState,
  type DisasterType,
  type MachineState,
  type RequestEventType,
  type TaskState,
} from '../../core/model/enums.js';
import { eventTypes, pendingEventTypes, type EventType, type PendingEventType } from '../../core/model/event.js';
import { QueryText, QueryTexts, QueryWords } from '../../platform/http/query.js';
import { Since } from '../../platform/http/since.js';

const time = { type: 'integer', format: 'int64' } as const;

/** What a client wants to hear of. */
export class EventsQuery {
  /** Of which types; default: all. */
  @QueryWords(eventTypes)
  type?: EventType[];

  /** Of which requests; then nothing is told of machines and disasters. Default: all. */
  @QueryTexts('name')
  requestId?: string[];

  /** As the header Last-Event-ID, for clients that cannot set it; 0: all that is kept. The header wins. */
  @QueryText('name')
  lastEventId?: string;
}

/** Something that happened. Which members it has depends on its type. */
export class EventDto {
  /** What it is about. */
  @Since('muster')
  @ApiProperty({ enum: eventTypes, enumName: 'EventType' })
  type: EventType;

  /** When it happened, in epoch milliseconds. */
  @Since('muster')
  @ApiProperty(time)
  at: number;

  /** Of REQUEST, DEPLOY, PENDING, TASK, HEALTH and CRASHLOOP: the request. */
  @Since('muster')
  requestId?: string;

  /** Of DEPLOY, PENDING, TASK, HEALTH and CRASHLOOP: the deploy. */
  @Since('muster')
  deployId?: string;

  /** Of TASK: the task; of HEALTH: the task that has passed its health checks. */
  @Since('muster')
  taskId?: string;

  /** Of TASK: its state from now on. */
  @Since('muster')
  @ApiProperty({ enum: taskStates })
  taskState?: TaskState;

  /**
   * Of REQUEST: what changed; of DEPLOY: STARTING, STEP or FINISHED; of PENDING, about tasks that wait: QUEUED, WAITING (due and not
   * placed, or no longer for the same reason) or REMOVED.
   */
  @Since('muster')
  @ApiProperty({ enum: [...requestEventTypes, 'STARTING', 'STEP', ...pendingEventTypes] })
  eventType?: RequestEventType | 'STARTING' | 'STEP' | PendingEventType;

  /** Of PENDING: how many tasks of the deploy. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  tasks?: number;

  /** Of DEPLOY that is FINISHED: how it ended. */
  @Since('muster')
  @ApiProperty({ enum: deployStates })
  deployState?: DeployState;

  /** Of CRASHLOOP: which kind. */
  @Since('muster')
  @ApiProperty({ enum: crashLoopTypes })
  crashLoopType?: CrashLoopType;

  /** Of CRASHLOOP: when it began, in epoch milliseconds. */
  @Since('muster')
  @ApiProperty(time)
  start?: number;

  /** Of CRASHLOOP: when it was found to be over. */
  @Since('muster')
  @ApiProperty(time)
  end?: number;

  /** Of SLAVE and RACK: its id. */
  @Since('muster')
  machineId?: string;

  /** Of SLAVE and RACK: its state from now on; absent: its record was removed. */
  @Since('muster')
  @ApiProperty({ enum: machineStates })
  state?: MachineState;

  /** Of DISASTER: which one. */
  @Since('muster')
  @ApiProperty({ enum: disasterTypes })
  disaster?: DisasterType;

  /** Of DISASTER: it began; false: it is over. */
  @Since('muster')
  active?: boolean;

  /** Who caused it, where that is known. */
  @Since('muster')
  user?: string;

  /** What is said about it. */
  @Since('muster')
  message?: string;

  /** Of TASK: why, as the machine says; of PENDING that is WAITING: a waiting reason. */
  @Since('muster')
  reason?: string;
}
