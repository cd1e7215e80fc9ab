// Listens, and keeps no more than one connection waiting that has not been accepted. A test then stops the process.
import { createServer } from 'node:net';

const server = createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(`port ${server.address().port}`));
