export * from './take.js';
