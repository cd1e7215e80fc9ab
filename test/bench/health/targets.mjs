// The programs that the tasks of the benchmark stand for, in a process of their own: every answer has the status of the
// second argument and a text of 300 bytes. Tells its ports to its parent, how often they were asked when it wants to know, and ends with it.
import { createServer } from 'node:http';

const ports = Number(process.argv[2]);
const status = Number(process.argv[3]);
let asked = 0;
const body = 'x'.repeat(300);

const listening = Array.from({ length: ports }, async () => {
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(status).end(body);
  });
  await new Promise((resolve) => server.listen(0, '0.0.0.0', 4_096, resolve));
  return server.address().port;
});
process.send(await Promise.all(listening));
process.on('message', () => process.send(asked));
process.on('disconnect', () => process.exit(0));
