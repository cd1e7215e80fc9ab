import { type Contract, contract } from 'rest-contract/client';
import { activeTasks } from './active-tasks.js';
import { taskActions } from './task-actions.js';

/** Tasks that run or wait, their files, notes and shell commands. */
export const TasksApi: Contract<typeof activeTasks & typeof taskActions, never> = contract('TasksApi', {
  ...activeTasks,
  ...taskActions,
});
