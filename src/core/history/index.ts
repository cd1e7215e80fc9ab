export { CsvReader, type Cell } from './csv.js';
export { decodePayload, payloadKinds, type Payload, type PayloadKind } from './decode-payload.js';
export { columnName, type DumpRow } from './dump-cells.js';
export { dumpTableOf, dumpTables, type DumpTable, type StoredRow } from './dump-tables.js';
export { purgeBefore, type KeptTasks, type PurgeLimits } from './purge-before.js';
