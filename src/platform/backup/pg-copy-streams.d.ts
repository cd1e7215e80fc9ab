declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** Handed to `query` of a client; the stream is what COPY .. TO STDOUT answers. */
  export function to(text: string): Readable & Submittable;
  /** A stream that feeds COPY .. FROM STDIN. Finished once the server has taken everything. */
  export function from(text: string): Writable & Submittable & { rowCount: number };
}
