// The programs that the tasks of the benchmark stand for, in a process of their own: every answer is 503 with a text of
// 300 bytes. Tells its ports to its parent and ends with it.
import { createServer } from 'node:http';

const ports = Number(process.argv[2]);
const body = 'x'.repeat(300);

const listening = Array.from({ length: ports }, async () => {
  const server = createServer((_request, response) => response.writeHead(503).end(body));
  await new Promise((resolve) => server.listen(0, '0.0.0.0', 4_096, resolve));
  return server.address().port;
});
process.send(await Promise.all(listening));
process.on('disconnect', () => process.exit(0));
