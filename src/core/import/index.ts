export * from './next-slot.js';
export * from './take.js';
