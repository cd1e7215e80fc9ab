export { decodePayload, payloadKinds, type Payload, type PayloadKind } from './decode-payload.js';
export { heldBack, type HeldBack, purgeBefore, type KeptTasks, type PurgeLimits } from './retention.js';
