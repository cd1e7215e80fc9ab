import { EmbeddedServer } from '../../../src/platform/embedded-server/embedded-server.js';

/** Starts the embedded server in the folder given and stays, to be killed. */
const server = await EmbeddedServer.start({ dataDir: process.argv[2]! });
console.log(`pid ${server.pid}`);
setInterval(() => undefined, 1_000);
