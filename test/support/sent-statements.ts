import { Client } from 'pg';
import { vi } from 'vitest';

export interface SentStatement {
  sql: string;
  parameters?: unknown[];
}

/** Records the statements that this process sends to databases from now on, on whatever connection. */
export function watchStatements(): { sent(): SentStatement[]; forget(): void; end(): void } {
  const query = vi.spyOn(Client.prototype, 'query');
  return {
    sent: () =>
      (query.mock.calls as unknown[][]).map(([statement, values]) =>
        typeof statement === 'string'
          ? { sql: statement, parameters: values as unknown[] | undefined }
          : { sql: (statement as { text: string }).text, parameters: (statement as { values: unknown[] }).values },
      ),
    forget: () => void query.mockClear(),
    end: () => query.mockRestore(),
  };
}
