import { z } from 'zod';
import { disableableActions } from '../../core/disasters/index.js';
import { count, millis } from './bounds.js';

const portion = () => z.number().min(0).max(1);
export const DisasterDetectionSettings = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether disasters are looked for'),
  runEveryMillis: millis().default(10_000).describe('Time between two looks (poller `disasters`)'),
  statsHistorySize: count(1).default(10).describe('Data points kept; disasters are seen in these'),
  checkLateTasks: z.boolean().default(true).describe('Whether tasks that start late can be a disaster'),
  fewestLateTasks: count(1)
    .default(5)
    .describe(
      'Late tasks below which their share says nothing: on a small cluster one task that waits is a large share',
    ),
  warningOverdueTaskPortion: portion().default(0.05).describe('Share of late tasks that counts together with the lag'),
  criticalOverdueTaskPortion: portion().default(0.1).describe('Share of late tasks that is a disaster by itself'),
  warningAvgTaskLagMillis: millis()
    .default(120_000)
    .describe('Average lag of overdue tasks that counts together with their share'),
  criticalAvgTaskLagMillis: millis()
    .default(240_000)
    .describe('The same that is a disaster as soon as the share is above its warning'),
  triggerAfterMillisOverTaskLagThreshold: millis()
    .default(45_000)
    .describe('How long a share or a lag must have lasted'),
  checkLostSlaves: z.boolean().default(true).describe('Whether lost slaves can be a disaster'),
  criticalLostSlavePortion: portion().default(0.2).describe('Share of slaves lost that is a disaster'),
  includeLostSlavesInLastMillis: millis().default(30_000).describe('Span of time in which they count together'),
  checkLostTasks: z.boolean().default(true).describe('Whether lost tasks can be a disaster'),
  criticalLostTaskPortion: portion().default(0.2).describe('Share of tasks lost that is a disaster'),
  includeLostTasksInLastMillis: millis().default(30_000).describe('Span of time in which they count together'),
  lostTaskReasons: z
    .array(z.string())
    .default([
      'REASON_INVALID_OFFERS',
      'REASON_AGENT_UNKNOWN',
      'REASON_AGENT_REMOVED',
      'REASON_AGENT_RESTARTED',
      'REASON_MASTER_DISCONNECTED',
    ])
    .describe(
      'Reasons of lost tasks that count; REASON_CONTAINER_LAUNCH_FAILED and REASON_TASK_INVALID never do: a deploy can bring them about',
    ),
  disableActionsOnDisaster: z
    .array(z.enum(disableableActions))
    .default([])
    .describe('Actions that are switched off while there is a disaster'),
  defaultDisabledActionExpiration: millis()
    .default(900_000)
    .describe('Milliseconds after which they come back when the disaster is one that ends by itself'),
});
