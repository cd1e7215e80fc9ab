export { connectionState, connectionStates, type ConnectionFacts, type ConnectionState } from './connection-state.js';
