/*
 * Runs as a thread of LeaseThread, as it stands here: the build copies it. Renews the lease of one term at a time over a
 * connection of its own, so that no work of the main thread holds that up.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Client } from 'pg';
import { demandProof } from '../database/server-proof.mjs';

/**
 * Both threads see the cells, which hold nanoseconds of the monotonic clock. [0]: when the statement was sent that last renewed
 * the lease; 0: it is another's, -1 and -3: it was let go. [1]: when the main thread was last alive.
 * @typedef {{ epoch: number, cells: BigInt64Array }} Held
 */
const renewedAt = 0;
const aliveAt = 1;

const { connection, holder, statements, renewEveryMillis, renewAgainMillis, standstillMillis, trustMillis } =
  workerData;

/** @type {Client | undefined} */
let client;
/** @type {Held | undefined} */
let held;
let isAsking = false;

parentPort.on('message', ({ keep, release }) => {
  if (keep) void renewWhileHeld((held = keep));
  if (release === undefined || held?.epoch !== release) return;
  held = undefined;
  // No answer came in time, and none may hold up the next term.
  if (isAsking) disconnect();
});
// So that the first renewal need not wait for a connection.
await connect().catch(() => undefined);
parentPort.postMessage({ kind: 'ready' });

/** @param {Held} term */
async function renewWhileHeld(term) {
  while (held === term) {
    const sentAt = process.hrtime.bigint();
    const isOlder = (millis, cell) => sentAt - Atomics.load(term.cells, cell) > BigInt(millis) * 1_000_000n;
    if (isOlder(standstillMillis, aliveAt)) return letGo(term, -1n);
    // After a freeze of the process. The lease may still be free, but nobody has looked after the cluster.
    if (isOlder(trustMillis, renewedAt)) return letGo(term, -3n);
    let next = renewEveryMillis;
    try {
      const rows = await ask(statements.renew, term.epoch);
      if (held !== term) return;
      if (rows === 0) return lose(term, 0n);
      Atomics.store(term.cells, renewedAt, sentAt);
    } catch (cause) {
      if (held !== term) return;
      parentPort.postMessage({ kind: 'failed', epoch: term.epoch, text: String(cause) });
      next = renewAgainMillis;
    }
    await delay(next);
  }
}

/**
 * A main thread that stands still decides nothing, so another instance is to lead. After a freeze of the whole process the lease
 * is another's already, and giving it back changes nothing.
 * @param {Held} term @param {bigint} why
 */
async function letGo(term, why) {
  lose(term, why);
  await ask(statements.giveBack, term.epoch).catch(() => undefined);
}

/** @param {Held} term @param {bigint} why */
function lose(term, why) {
  // The main thread sees it at its next look, even before it reads the message.
  Atomics.store(term.cells, renewedAt, why);
  held = undefined;
  parentPort.postMessage({ kind: 'lost', epoch: term.epoch });
}

/** Answers how many rows it changed. @param {string} sql @param {number} epoch */
async function ask(sql, epoch) {
  isAsking = true;
  try {
    if (!client) await connect();
    return (await client.query(sql, [holder, epoch])).rowCount;
  } catch (cause) {
    // What the connection is in the middle of is unknown.
    disconnect();
    throw cause;
  } finally {
    isAsking = false;
  }
}

async function connect() {
  const opened = new Client(connection);
  demandProof(opened);
  client = opened;
  // Broken while nothing is asked: the next renewal opens another one.
  opened.on('error', () => client === opened && disconnect());
  await opened.connect();
}

function disconnect() {
  void client?.end().catch(() => undefined);
  client = undefined;
}
