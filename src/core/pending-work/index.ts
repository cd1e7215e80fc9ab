export { drain } from './drain.js';
export type * from './pending-work.js';
export { misplacedTasks } from './scale-down.js';
