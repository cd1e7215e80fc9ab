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
import {
  eventTypes,
  healthEventTypes,
  pendingEventTypes,
  type EventType,
  type HealthEventType,
  type PendingEventType,
} from '../../core/model/event.js';
import { gateStates, type GateState } from '../../core/model/gate.js';
import { QueryText, QueryTexts, QueryWords } from '../../platform/http/query.js';
import { Since } from '../../platform/http/since.js';

const time = { type: 'integer', format: 'int64' } as const;

/** Selects the events that a client wants. */
export class EventsQuery {
  /** Types of events; default: all. */
  @QueryWords(eventTypes)
  type?: EventType[];

  /** Ids of requests; then there are no events of machines and disasters. Default: all. */
  @QueryTexts('name')
  requestId?: string[];

  /** As the header Last-Event-ID, for clients that cannot set it; 0: all that is kept. The header wins. */
  @QueryText('name')
  lastEventId?: string;
}

/** Something that happened. Which members it has depends on its type. */
export class EventDto {
  /** Kind of record that changed. */
  @Since('muster')
  @ApiProperty({ enum: eventTypes, enumName: 'EventType' })
  type: EventType;

  /** Time of the event, in epoch milliseconds. */
  @Since('muster')
  @ApiProperty(time)
  at: number;

  /** Id of the request, for REQUEST, DEPLOY, PENDING, TASK, HEALTH and CRASHLOOP. */
  @Since('muster')
  requestId?: string;

  /** Id of the deploy, for DEPLOY, PENDING, TASK, HEALTH and CRASHLOOP. */
  @Since('muster')
  deployId?: string;

  /** Id of the task, for TASK; of the task whose health has changed, for HEALTH. */
  @Since('muster')
  taskId?: string;

  /** State of the task from now on, for TASK. */
  @Since('muster')
  @ApiProperty({ enum: taskStates })
  taskState?: TaskState;

  /**
   * Kind of change, for REQUEST; STARTING, STEP, GATE or FINISHED, for DEPLOY; QUEUED, WAITING (due and not placed, or no longer for the same
   * reason) or REMOVED, for PENDING; UNHEALTHY (it fails its liveness checks), RECOVERED or LEAVING (it gets no more calls, and is ended),
   * for HEALTH: absent, it has passed its health checks.
   */
  @Since('muster')
  @ApiProperty({ enum: [...requestEventTypes, 'STARTING', 'STEP', 'GATE', ...pendingEventTypes, ...healthEventTypes] })
  eventType?: RequestEventType | 'STARTING' | 'STEP' | 'GATE' | PendingEventType | HealthEventType;

  /** Number of the step whose gate has changed, from 1, for DEPLOY with GATE. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  step?: number;

  /** Number of the gate in the settings of the deploy, from 1, for DEPLOY with GATE. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  gate?: number;

  /** State of the gate from now on, for DEPLOY with GATE. */
  @Since('muster')
  @ApiProperty({ enum: gateStates })
  gateState?: GateState;

  /** Of PENDING: how many tasks of the deploy. */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  tasks?: number;

  /** Result of a deploy that is FINISHED, for DEPLOY. */
  @Since('muster')
  @ApiProperty({ enum: deployStates })
  deployState?: DeployState;

  /** Kind of crash loop, for CRASHLOOP. */
  @Since('muster')
  @ApiProperty({ enum: crashLoopTypes })
  crashLoopType?: CrashLoopType;

  /** Time at which it began, in epoch milliseconds, for CRASHLOOP. */
  @Since('muster')
  @ApiProperty(time)
  start?: number;

  /** Time at which it was found to be over, for CRASHLOOP. */
  @Since('muster')
  @ApiProperty(time)
  end?: number;

  /** Id of the machine, for SLAVE and RACK. */
  @Since('muster')
  machineId?: string;

  /** State of the machine from now on, for SLAVE and RACK; absent: its record was removed. */
  @Since('muster')
  @ApiProperty({ enum: machineStates })
  state?: MachineState;

  /** Kind of disaster, for DISASTER. */
  @Since('muster')
  @ApiProperty({ enum: disasterTypes })
  disaster?: DisasterType;

  /** True if the disaster began, false if it is over, for DISASTER. */
  @Since('muster')
  active?: boolean;

  /** User who caused it, where that is known. */
  @Since('muster')
  user?: string;

  /** Text about it. */
  @Since('muster')
  message?: string;

  /** Reason as the machine reports it, for TASK; a waiting reason, for PENDING that is WAITING. */
  @Since('muster')
  reason?: string;
}
