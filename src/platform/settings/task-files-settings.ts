import { z } from 'zod';

/** Port of that address, unless a setting names another. Tools of older installations know no other. */
export const usualFilesPort = 5_051;

/** The address of an agent at which tools read the files of tasks from the machine itself. */
export const TaskFilesSettings = z.strictObject({
  readToken: z
    .string()
    .regex(/^[\x21-\x7e]{16,500}$/, 'must have 16 to 500 visible ASCII characters')
    .describe(
      'Token with which callers read the files of all tasks, sent as X-Muster-Read-Token or as Authorization: Bearer',
    ),
  port: z.number().int().min(1).max(65_535).default(usualFilesPort).describe('Port of the address'),
  host: z.string().min(1).max(255).default('127.0.0.1').describe('Host or address to listen on; 0.0.0.0: all'),
});
export type TaskFilesSettings = z.infer<typeof TaskFilesSettings>;
