export * from './client.js';
export { serve, type ServedContract } from './server/serve.js';
export { type CallContext, type FailureReport, implement, type ServeOptions, type Service } from './server/types.js';
