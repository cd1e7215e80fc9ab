export { purgeBefore, type KeptTasks, type PurgeLimits } from './purge-before.js';
