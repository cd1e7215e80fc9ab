import { Client, types } from 'pg';

const int8 = 20;

/**
 * One connection outside every pool, for what must not wait behind other work: the lease, LISTEN, checks at start.
 * A query that gets no answer in time fails here, whatever the server (or the network) does.
 */
export async function connect(url: string, use: string, queryTimeoutMillis: number): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: `muster ${use}`,
    connectionTimeoutMillis: Math.min(5_000, queryTimeoutMillis),
    query_timeout: queryTimeoutMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: 1_000,
    types: { getTypeParser: (oid, format) => (oid === int8 ? Number : types.getTypeParser(oid, format)) },
  });
  // A connection that breaks while nobody waits for it would otherwise end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    discard(client);
    throw cause;
  }
  return client;
}

/** Ends a connection whose state nobody knows: without waiting for the server's goodbye. */
export function discard(client: Client): void {
  void client.end().catch(() => undefined);
}
