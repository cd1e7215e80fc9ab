// Who calls, in a process of its own. Is told by its parent how many callers make which calls for how long, tells it when each
// run was acknowledged, and ends with it. $m: each of so many requests in turn, $r: a number that no other call has.
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';

const nowMs = () => performance.timeOrigin + performance.now();
let asked = 0;

async function call(pool, { path, method, body }, index) {
  const mark = String(++asked);
  const fill = (text) => text.replaceAll('$m', String(index)).replaceAll('$r', mark);
  const sentAt = nowMs();
  const answer = await pool.request({
    method,
    path: fill(path),
    headers: { 'content-type': 'application/json' },
    body: fill(body),
  });
  const text = await answer.body.text();
  return {
    mark,
    index,
    status: answer.statusCode,
    sentAt,
    acknowledgedAt: nowMs(),
    text: answer.statusCode < 400 ? '' : text,
  };
}

/** `everyMillis`: pause of each caller between two calls. */
async function fire({ origin, callers, seconds, everyMillis = 0, ...what }) {
  const pool = new Pool(origin, { connections: callers });
  const until = nowMs() + seconds * 1_000;
  const calls = [];
  const one = async (index) => {
    while (nowMs() < until) {
      calls.push(await call(pool, what, index));
      if (everyMillis > 0) await pause(everyMillis);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, index) => one(index)));
  await pool.close();
  return calls;
}

process.on('message', async (what) => process.send(await fire(what)));
process.on('disconnect', () => process.exit(0));
