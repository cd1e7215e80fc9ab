import type { FieldError } from './field-error.js';

export interface RecordLimits {
  /** Bytes of a request, a deploy or a run as a whole, as it is stored. */
  maxRecordBytes: number;
}

/** As JSON, which is what is stored, sent and held in memory. */
export const recordBytes = (record: unknown): number => Buffer.byteLength(JSON.stringify(record));

/** Bytes that one of our own actions, such as another number of instances, may add to a record from before the limit. */
const growth = 256;

/** Each member has a limit of its own; together they may not become more than this. `former`: what the record takes the place of. */
export function sizeProblem(
  field: string,
  record: unknown,
  { maxRecordBytes }: RecordLimits,
  former?: unknown,
): FieldError | undefined {
  const bytes = recordBytes(record);
  if (bytes <= maxRecordBytes) return undefined;
  if (former !== undefined && bytes <= recordBytes(former) + growth) return undefined;
  const message = `${field} must take at most ${maxRecordBytes} bytes as JSON in all (maxRecordBytes), not ${bytes}`;
  return { field, rule: 'size', message };
}
