import { z } from 'zod';
import { disableableActions } from '../../core/disasters/index.js';
import { count, millis } from './bounds.js';

const portion = () => z.number().min(0).max(1);
export const DisasterDetectionSettings = z.strictObject({
  enabled: z.boolean().default(true).describe('Detect disasters'),
  runEveryMillis: millis().default(10_000).describe('Time between two checks (poller `disasters`)'),
  statsHistorySize: count(1).default(10).describe('Data points for the detection'),
  checkLateTasks: z.boolean().default(true).describe('Detect disasters by tasks that start late'),
  fewestLateTasks: count(1)
    .default(5)
    .describe('Fewest late tasks of a disaster: in a small cluster one waiting task is a large share'),
  warningOverdueTaskPortion: portion().default(0.05).describe('Share of late tasks that counts together with the lag'),
  criticalOverdueTaskPortion: portion().default(0.1).describe('Share of late tasks that is a disaster by itself'),
  warningAvgTaskLagMillis: millis()
    .default(120_000)
    .describe('Average lag of overdue tasks that counts together with their share'),
  criticalAvgTaskLagMillis: millis()
    .default(240_000)
    .describe('Average lag of overdue tasks that is a disaster if their share is above its warning'),
  triggerAfterMillisOverTaskLagThreshold: millis()
    .default(45_000)
    .describe('Time for which a share or a lag must last'),
  checkLostSlaves: z.boolean().default(true).describe('Detect disasters by lost slaves'),
  criticalLostSlavePortion: portion().default(0.2).describe('Share of lost slaves that is a disaster'),
  includeLostSlavesInLastMillis: millis().default(30_000).describe('Time span in which losses add up'),
  checkLostTasks: z.boolean().default(true).describe('Detect disasters by lost tasks'),
  criticalLostTaskPortion: portion().default(0.2).describe('Share of lost tasks that is a disaster'),
  includeLostTasksInLastMillis: millis().default(30_000).describe('Time span in which losses add up'),
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
      'Counted reasons of lost tasks; REASON_CONTAINER_LAUNCH_FAILED and REASON_TASK_INVALID never count, because a deploy can cause them',
    ),
  disableActionsOnDisaster: z
    .array(z.enum(disableableActions))
    .default([])
    .describe('Actions that are disabled during a disaster'),
  defaultDisabledActionExpiration: millis()
    .default(900_000)
    .describe('Milliseconds after which these actions are enabled again, if the disaster can end by itself'),
});
