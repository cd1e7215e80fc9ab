import { Client, type ClientConfig, type CustomTypesConfig, types } from 'pg';
import { demandProof } from './server-proof.mjs';

type TypeId = Parameters<typeof types.getTypeParser>[0];
const int8 = 20;
const arrayOfInt8 = 1016;
/** The types of the driver name no arrays. */
const arrayOfInt4 = 1007 as TypeId;

/** int8 as numbers, in place of text. */
export const integersAsNumbers: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === int8) return Number;
    return types.getTypeParser((oid as number) === arrayOfInt8 ? arrayOfInt4 : oid, format);
  },
};

/** Begins only with a server that proves that it knows the password. */
export class ProvenClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    demandProof(this);
  }
}

/**
 * One connection outside every pool, for what must not wait behind other work: the lease, LISTEN, checks at start.
 * A query that gets no answer in time fails here, whatever the server (or the network) does. undefined: it takes as long as
 * it takes, such as the copy of a table.
 */
export async function connect(url: string, use: string, queryTimeoutMillis: number | undefined): Promise<Client> {
  const client = new ProvenClient({ ...plainOptions(url, use, queryTimeoutMillis), types: integersAsNumbers });
  // A connection that breaks while no query waits for it would otherwise end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    discard(client);
    throw cause;
  }
  return client;
}

/** Options of `connect`, as far as they can be handed to another thread. */
export const plainOptions = (url: string, use: string, queryTimeoutMillis: number | undefined) => ({
  connectionString: url,
  application_name: `muster ${use}`,
  connectionTimeoutMillis: Math.min(5_000, queryTimeoutMillis ?? 5_000),
  query_timeout: queryTimeoutMillis,
  keepAlive: true,
  keepAliveInitialDelayMillis: 1_000,
});

/** Ends a connection whose state is not known: without waiting for the server's goodbye. */
export function discard(client: Client): void {
  void client.end().catch(() => undefined);
}

/**
 * The live tables stand in memory. With the server's default, made for spinning disks, a batch of 500 rows out of 20,000
 * is found by reading all of them.
 */
const inMemory = { random_page_cost: 1.1 };

/** Parameters that the server applies to a connection. Milliseconds; seconds for keepalives. */
type ServerParameters = Record<string, number | string>;

/** Default isolation of transactions: said once per connection, not once per transaction. */
const isolation = { default_transaction_isolation: 'read committed' };

/**
 * For a connection that waits for locks as long as it takes: a takeover waits for the transactions of the former leader.
 * One that freezes, or whose machine vanishes, keeps no lock longer than these.
 */
export const leaseParameters: ServerParameters = {
  ...inMemory,
  ...isolation,
  idle_in_transaction_session_timeout: 2_000,
  statement_timeout: 10_000,
  tcp_user_timeout: 4_000,
  tcp_keepalives_idle: 1,
  tcp_keepalives_interval: 1,
  tcp_keepalives_count: 3,
};

/**
 * Longest wait for a row. In an instance that freezes, every connection that waits for a row gets it one day, and keeps
 * it until it has been idle for too long: ten calls on one request would keep it for ten times as long. So none waits
 * long. The one that is first in the line when another gives up begins to wait anew, and may get it; no other does.
 */
const lockTimeoutMillis = 2_000;

/** The takeover waits for such a transaction, and the transaction perhaps for the row of a request. */
export const leaderParameters: ServerParameters = { ...leaseParameters, lock_timeout: lockTimeoutMillis };

/** The next leader needs what the API of a frozen instance has locked, so it must be free about when the lease is. */
export const apiParameters: ServerParameters = {
  ...inMemory,
  ...isolation,
  idle_in_transaction_session_timeout: 3_000,
  lock_timeout: lockTimeoutMillis,
  statement_timeout: 20_000,
};

/**
 * A migration may take as long as it needs, and what it needs to lock it gets soon or not at all: all calls on a table queue up
 * behind one that waits for the whole of it. It is tried again.
 */
export const migrationParameters: ServerParameters = { ...isolation, statement_timeout: 0, lock_timeout: 1_000 };

/** For a program that only looks: what would change a row fails. */
export const readOnlyParameters: ServerParameters = { default_transaction_read_only: 'on' };

/**
 * Longest wait of this side for the answer to a statement: a little longer than the server lets it run, because a
 * server that is frozen, or behind a network that is gone, ends nothing.
 */
export const answerTimeoutMillis = ({ statement_timeout: millis }: ServerParameters): number | undefined =>
  Number(millis) > 0 ? Number(millis) + 1_000 : undefined;

/** The parameters travel in the URL, because the driver lets a URL's own `options` replace all others. */
export function withParameters(url: string, parameters: ServerParameters): string {
  const parsed = new URL(url);
  const ours = Object.entries(parameters).map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', '\\ ')}`);
  parsed.searchParams.set('options', [parsed.searchParams.get('options') ?? '', ...ours].join(' ').trim());
  return parsed.toString();
}
