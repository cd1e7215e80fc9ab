declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** Handed to `query` of a client; the stream is what COPY .. TO STDOUT answers. */
  export function to(text: string): Readable & Submittable;
  /** What is written is what COPY .. FROM STDIN reads. Finished once the server has taken it. */
  export function from(text: string): Writable & Submittable & { rowCount: number };
}
