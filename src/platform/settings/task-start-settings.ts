import { z } from 'zod';
import { count } from './bounds.js';

/** Start of tasks with executorData by an agent, and the number of threads that tasks may have. */
export const taskStartSettings = {
  sandboxEnvPrefix: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,49}$/, 'must be at most 50 capital letters, digits and "_"')
    .optional()
    .describe('Prefix of further names of CLUSTER_TASK_ID and CLUSTER_SANDBOX in tasks, for older start scripts'),
  honorRunningSentinel: z
    .boolean()
    .default(false)
    .describe('A task with executorData.runningSentinel counts as running only if that file exists'),
  extraScriptContent: z
    .string()
    .max(65_536)
    .regex(/^[^\0]*$/, 'must not contain a NUL character')
    .default('')
    .describe(
      "Shell text that the start script of tasks with executorData runs before their command, as the task's user",
    ),
  defaultRunAsUser: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Account of tasks with executorData that name no user; default: that of tasksRunAs'),
  maxTaskThreads: count(1, 4_194_304)
    .optional()
    .describe('Most threads of a task whose executorData names no limit; beyond, it is killed; default: any number'),
  threadCheckerType: z
    .enum(['CGROUP', 'PS', 'PROC_STATUS'])
    .default('CGROUP')
    .describe('Counted threads: CGROUP: of all processes of a task; PS, PROC_STATUS: of its first process'),
};
