export { MusterApi } from './api/index.js';
export { connectMuster, type Muster, type MusterOptions } from './connect.js';
export { MusterError, ServiceUnreachable } from './errors.js';
export * from './records/index.js';
export type { Base64, Int32, Int64 } from './schema.js';
export { UnreadableResponse } from 'rest-contract/client';
