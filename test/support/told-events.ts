import type { WrittenEvent } from '../../src/core/model/event.js';

interface Database {
  query(sql: string): Promise<unknown[]>;
}

/** What streams are told of one type, in the order in which it was written. */
export async function toldEvents<T extends WrittenEvent['type']>(
  database: Database,
  wanted: T,
): Promise<Extract<WrittenEvent, { type: T }>[]> {
  const rows = (await database.query('SELECT events FROM live_event ORDER BY id')) as { events: string }[];
  const all = rows.flatMap(({ events }) => JSON.parse(events) as WrittenEvent[]);
  return all.filter((event): event is Extract<WrittenEvent, { type: T }> => event.type === wanted);
}
