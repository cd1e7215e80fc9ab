// In which layer of the program the time of a profile (`Profiler.stop`) was spent: shares of all of it. A function that was waiting for
// a core counts as working, so they are to be taken with the CPU time that was measured.

/** By the file of a function; the first that fits. */
const layers = [
  [
    'Express',
    /\/node_modules\/(express|router|finalhandler|path-to-regexp|parseurl|body-parser|cors|compression|vary|accepts|negotiator|fresh|type-is|send|mime-types|etag|qs|content-type|on-finished)\//,
  ],
  ['Nest', /\/node_modules\/@nestjs\//],
  ['rxjs', /\/node_modules\/rxjs\//],
  [
    'checks of input',
    /\/node_modules\/(class-validator|class-transformer|validator|reflect-metadata)\/|platform\/http\/(input\.pipe|query|fields|ignored-members|known-members)\./,
  ],
  [
    'database',
    /\/node_modules\/(pg|pg-pool|pg-protocol|pg-types|typeorm|postgres-[a-z]+)\/|platform\/database\/(prepared|sql|database|data-sources)|\.repository\.js/,
  ],
  ['answers', /platform\/http\/(answer\.interceptor|json)\./],
  ['authorization, audit', /dist\/src\/modules\/auth\//],
  ['our middleware', /dist\/src\/platform\/(http|database\/permits|idempotency)/],
  ['services', /dist\/src\//],
  ['async hooks, promises', /node:(internal\/(async_hooks|promise_hooks|process\/(promises|task_queues))|async_hooks)/],
  ['HTTP, sockets, streams of Node.js', /node:/],
];

const serializes = new Set(['stringify', 'parse']);

function layerOf({ callFrame }, above) {
  const { url, functionName } = callFrame;
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName === '(program)') return 'native code';
  // `dispatch`: the profiler itself.
  if (functionName === '(idle)' || (functionName === 'dispatch' && url === '')) return undefined;
  // What is built into the engine counts with its caller.
  if (url === '') return serializes.has(functionName) ? 'JSON' : above;
  return layers.find(([, pattern]) => pattern.test(url))?.[0] ?? 'others';
}

/** Layer -> its share; `functions`: those that took most, by themselves. */
export function layersOf({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const layerById = new Map();
  const walk = (node, above) => {
    const layer = layerOf(node, above);
    layerById.set(node.id, layer);
    for (const child of node.children ?? []) walk(byId.get(child), layer ?? 'others');
  };
  walk(nodes[0], 'others');
  const spent = new Map();
  const functions = new Map();
  samples.forEach((id, index) => {
    const layer = layerById.get(id);
    if (layer === undefined) return;
    const micros = timeDeltas[index];
    spent.set(layer, (spent.get(layer) ?? 0) + micros);
    const { functionName, url, lineNumber } = byId.get(id).callFrame;
    const name = `${functionName || '(anonymous)'} ${url.replace(/^.*\/(node_modules|dist)\//, '')}:${lineNumber + 1}`;
    functions.set(name, (functions.get(name) ?? 0) + micros);
  });
  const all = [...spent.values()].reduce((sum, micros) => sum + micros, 0);
  const sorted = (map) => [...map].map(([name, micros]) => [name, micros / all]).sort(([, a], [, b]) => b - a);
  return { layers: sorted(spent), functions: sorted(functions) };
}
