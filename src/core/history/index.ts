export { CsvReader, type Cell } from './csv.js';
export { decodePayload, payloadKinds, type Payload, type PayloadKind } from './decode-payload.js';
export { columnName, type DumpRow, type DumpTable, dumpTableOf, dumpTables, type StoredRow } from './dump-tables.js';
export { heldBack, type HeldBack, purgeBefore, type KeptTasks, type PurgeLimits } from './retention.js';
