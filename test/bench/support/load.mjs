// Who calls, in a process of its own: as many calls as get answers on so many connections. Is told what to call by its
// parent, tells it what came back, and ends with it.
import { request } from 'undici';
import autocannon from 'autocannon';

const percentile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)];

let asked = 0;
/** In the place of $n: a number that no call before had, for ids of its own; of $m: each of so many in turn. */
const numbered = (text, requests) =>
  text?.replace('$n', `${process.pid}-${++asked}`).replace('$m', String(++asked % requests));
const isNumbered = ({ path, body }) => /\$[nm]/.test(path + (body ?? ''));
const forOneCall = (sent, requests) => ({
  ...sent,
  path: numbered(sent.path, requests),
  body: numbered(sent.body, requests),
});
const headersOf = (body) => (body === undefined ? {} : { 'content-type': 'application/json' });

/** Bytes of one answer. */
async function answerSize({ origin, requests = 1_000, ...call }) {
  const { path, method, body } = forOneCall(call, requests);
  const answer = await request(origin + path, { method, body, headers: headersOf(body) });
  return (await answer.body.arrayBuffer()).byteLength;
}

/** Answers calls per second, and milliseconds that calls took. */
async function fire({ origin, path, method, body, requests: number = 1_000, connections, seconds }) {
  const times = [];
  const sent = { path, method, body, headers: headersOf(body) };
  const requests = [{ ...sent, ...(isNumbered(sent) && { setupRequest: (each) => forOneCall(each, number) }) }];
  const run = autocannon({ url: origin, connections, duration: seconds, timeout: 60, requests });
  run.on('response', (_client, _status, _bytes, millis) => times.push(millis));
  const { non2xx, errors, duration } = await run;
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99] = [percentile(sorted, 50), percentile(sorted, 99)];
  return { calls: times.length, perSecond: times.length / duration, p50, p99, failed: non2xx + errors };
}

process.on('message', async ({ seconds, ...call }) => {
  process.send(await (seconds === undefined ? answerSize(call) : fire({ seconds, ...call })));
});
process.on('disconnect', () => process.exit(0));
