/** Layers of the program that a call passes, by the file of a function; the first that fits. */
export const layers = [
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
    /\/node_modules\/(pg|pg-pool|pg-protocol|pg-types|typeorm|postgres-[a-z]+)\/|platform\/database\/(prepared|sql|database|pool|transaction)|\.repository\.js/,
  ],
  ['answers', /platform\/http\/(answer\.interceptor|json)\./],
  ['authorization, audit', /dist\/src\/modules\/auth\//],
  ['plain connections', /dist\/src\/platform\/http\/plain\//],
  ['our middleware', /dist\/src\/platform\/(http|database\/permits|idempotency)/],
  ['services', /dist\/src\//],
  ['async hooks, promises', /node:(internal\/(async_hooks|promise_hooks|process\/(promises|task_queues))|async_hooks)/],
  ['HTTP, sockets, streams of Node.js', /node:/],
];
