// Calls a URL all the time until it is told to stop (SIGTERM); then prints what was counted, as JSON. Each call has a
// connection of its own, opened when it is due: what a proxy does with idle connections when it is set up anew does not
// count, whatever else goes wrong does. Calls that a busy machine made late are made up for, so the rate is kept. A parent
// that sends a message gets the numbers of answered and failed calls so far.
//   node load.mjs <url> <calls per second>
import { Agent, get } from 'node:http';

const [url, rate] = process.argv.slice(2);
const timeout = 10_000;
const agent = new Agent({ keepAlive: false });
const counted = { answered: 0, non2xx: 0, errors: 0, timeouts: 0, failures: [], latencies: [] };

function call() {
  const began = performance.now();
  return new Promise((resolve) => {
    const fail = (kind, what) => {
      counted[kind]++;
      counted.failures.push(`${new Date().toISOString()} ${what}`);
      resolve();
    };
    const request = get(url, { agent, timeout }, (response) => {
      response.on('error', (cause) => fail('errors', cause.code ?? cause.message)).resume();
      response.on('end', () => {
        if (response.statusCode < 200 || response.statusCode > 299) return fail('non2xx', response.statusCode);
        counted.answered++;
        counted.latencies.push(performance.now() - began);
        resolve();
      });
    });
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'TIMEOUT' })));
    request.on('error', ({ code, message }) => fail(code === 'TIMEOUT' ? 'timeouts' : 'errors', code ?? message));
  });
}

const underWay = new Set();
const began = performance.now();
let begun = 0;
const pace = setInterval(
  () => {
    for (const due = ((performance.now() - began) / 1_000) * Number(rate); begun < due; begun++) {
      const one = call().finally(() => underWay.delete(one));
      underWay.add(one);
    }
  },
  1_000 / Number(rate),
);

process.on('message', () => {
  const { answered, non2xx, errors, timeouts } = counted;
  process.send({ answered, failed: non2xx + errors + timeouts });
});

process.once('SIGTERM', async () => {
  clearInterval(pace);
  await Promise.all(underWay);
  const { latencies, ...counts } = counted;
  latencies.sort((a, b) => a - b);
  const at = (share) => Math.round(latencies[Math.ceil(latencies.length * share) - 1] ?? 0);
  console.log(JSON.stringify({ ...counts, latencyMillis: { p50: at(0.5), p99: at(0.99), max: at(1) } }));
  process.disconnect?.();
});
