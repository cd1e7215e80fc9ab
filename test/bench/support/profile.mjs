// In which part of the program the time of this process is spent. A function that was waiting for a core counts as working, so shares
// are to be taken with the CPU time that was measured.
import { Session } from 'node:inspector/promises';

const serializes = new Set(['stringify', 'parse']);

function partOf({ callFrame }, above, parts) {
  const { url, functionName } = callFrame;
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName === '(program)') return 'native code';
  // `dispatch`: the profiler itself.
  if (functionName === '(idle)' || (functionName === 'dispatch' && url === '')) return undefined;
  // What is built into the engine counts with its caller.
  if (url === '') return serializes.has(functionName) ? 'JSON' : above;
  return parts.find(([, pattern]) => pattern.test(url))?.[0] ?? 'others';
}

/** Part -> its share; `functions`: those that took most, by themselves. */
function sharesOf({ nodes, samples, timeDeltas }, parts) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const partById = new Map();
  const walk = (node, above) => {
    const part = partOf(node, above, parts);
    partById.set(node.id, part);
    for (const child of node.children ?? []) walk(byId.get(child), part ?? 'others');
  };
  walk(nodes[0], 'others');
  const spent = new Map();
  const functions = new Map();
  samples.forEach((id, index) => {
    const part = partById.get(id);
    if (part === undefined) return;
    const micros = timeDeltas[index];
    spent.set(part, (spent.get(part) ?? 0) + micros);
    const { functionName, url, lineNumber } = byId.get(id).callFrame;
    const name = `${functionName || '(anonymous)'} ${url.replace(/^.*\/(node_modules|dist)\//, '')}:${lineNumber + 1}`;
    functions.set(name, (functions.get(name) ?? 0) + micros);
  });
  const all = [...spent.values()].reduce((sum, micros) => sum + micros, 0);
  const sorted = (map) => [...map].map(([name, micros]) => [name, micros / all]).sort(([, a], [, b]) => b - a);
  return { parts: sorted(spent), functions: sorted(functions) };
}

const rounded = (value) => Math.round(value * 10) / 10;

/**
 * Does `work` and prints the CPU microseconds of this process by part, for each of what it has done. `detail`: 'functions' prints
 * the functions as well, undefined nothing at all. `count`: how many of what the result says were done.
 */
export async function profiled({ title, parts, detail, count }, work) {
  if (detail === undefined) return work();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 250 });
  await session.post('Profiler.start');
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  const shares = sharesOf(profile, parts);
  const done = count(result);
  const each = (list) =>
    Object.fromEntries(list.map(([name, share]) => [name, rounded((share * (user + system)) / done)]));
  console.log(title, `${done}, CPU microseconds of each:`);
  console.table(each([...shares.parts, ['all', 1]]));
  if (detail === 'functions') console.table(each(shares.functions.slice(0, 60)));
  return result;
}

/** Parts of the scheduler's own work, by the file of a function; the first that fits. */
export const schedulerParts = [
  [
    'encoding of rows',
    /\/node_modules\/(pg\/lib\/utils|pg-protocol\/dist\/(serializer|buffer-writer)|postgres-[a-z]+\/)/,
  ],
  ['reading of answers', /\/node_modules\/(pg-protocol|pg-types)\//],
  ['driver of the database', /\/node_modules\/(pg|pg-pool|typeorm)\/|platform\/database\//],
  ['simulated machines', /\/test\//],
  ['decisions', /dist\/src\/core\/(placement|completion|deploys|health)\//],
  ['memory of the leader', /dist\/src\/(core\/working-set|scheduler\/memory)\//],
  ['plans and documents', /dist\/src\/(core\/(launch|task-id)|scheduler\/placement)/],
  ['columns of rows', /\.repository\.js/],
  ['sending to machines', /dist\/src\/(scheduler\/dispatch|cluster)\//],
  ['status updates', /dist\/src\/(scheduler\/status|core\/tasks|core\/history)\//],
  ['services', /dist\/src\//],
  ['promises', /node:(internal\/(async_hooks|promise_hooks|process\/(promises|task_queues))|async_hooks)/],
  ['sockets of Node.js', /node:/],
];
