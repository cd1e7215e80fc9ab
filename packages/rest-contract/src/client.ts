// The client half: all a browser needs.
export * from './core.js';
export { connect, type ConnectOptions } from './client/connect.js';
export { checkMediaType } from './codec/bodies.js';
export { type CallBounds, performCall, type ResponseReader, UnreadableResponse } from './client/perform.js';
export type { CallOptions, Client } from './client/types.js';
