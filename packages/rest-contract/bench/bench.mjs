// Round trips of one call with three parameters: rest-contract, tRPC and ts-rest in the same run, in turns, so that a
// machine that slows down slows all of them. The last line is JSON.
import { cpus, totalmem } from 'node:os';
import { openRestContract } from './rest-contract.mjs';
import { clientBundleSize } from './size.mjs';
import { openTrpc } from './trpc.mjs';
import { openTsRest } from './ts-rest.mjs';

const ROUNDS = 7;
const WARM_UP = 300;
const CALLS = { inMemory: 3_000, loopback: 600 };
const ARGS = { id: 'u-42', verbose: true, name: 'Ada Lovelace' };

const contenders = { restContract: await openRestContract(), trpc: await openTrpc(), tsRest: await openTsRest() };
const result = {};
for (const way of Object.keys(CALLS)) {
  const times = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (const { [way]: call } of Object.values(contenders)) await repeat(call, WARM_UP);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, { [way]: call }] of Object.entries(contenders)) times[name].push(await repeat(call, CALLS[way]));
  }
  result[way] = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
  console.log(`${way}, microseconds per call, median of ${ROUNDS} rounds of ${CALLS[way]}:`);
  for (const [name, micros] of Object.entries(result[way])) console.log(`  ${name.padEnd(13)} ${micros.toFixed(1)}`);
}

// No client and no serialization: the lower bound tRPC offers for calls inside one process.
const { directCall } = contenders.trpc;
await repeat(directCall, WARM_UP);
const direct = median(await series(() => repeat(directCall, CALLS.inMemory)));
console.log(`for comparison, tRPC's createCaller (validates, but neither serializes nor routes): ${direct.toFixed(1)}`);

const size = await clientBundleSize();
console.log(`client bundle: ${size.minified} bytes minified, ${size.gzipped} bytes gzipped (aim: under 15000)`);
for (const { close } of Object.values(contenders)) await close();

console.log(
  JSON.stringify({
    microsPerCall: result.inMemory,
    loopbackMicrosPerCall: result.loopback,
    trpcCallerMicros: direct,
    clientBundleBytes: size,
    machine: {
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
    },
  }),
);

async function repeat(call, times) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < times; i += 1) {
    const answer = await call(ARGS);
    if (answer.id !== ARGS.id || answer.name !== ARGS.name || answer.verbose !== true)
      throw new Error('A wrong answer');
  }
  return Number(process.hrtime.bigint() - start) / 1_000 / times;
}

async function series(measure) {
  const all = [];
  for (let round = 0; round < ROUNDS; round += 1) all.push(await measure());
  return all;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length / 2)] ?? 0) * 10) / 10;
}
