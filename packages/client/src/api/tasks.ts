import { contract } from 'rest-contract/client';
import { activeTasks } from './active-tasks.js';
import { taskActions } from './task-actions.js';

/** Tasks that run or wait, their files, notes and shell commands. */
export const TasksApi = contract('TasksApi', { ...activeTasks, ...taskActions });
