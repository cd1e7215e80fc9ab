// The program of the services, given to `node -e`. Instances of version 3 fail their health check, but for the first one. `/sick`
// makes a task fail its liveness checks from then on; it answers calls all the same.
const { createServer } = require('node:http');
const { PORT, VERSION, TASK_ID, INSTANCE_NO } = process.env;
const passes = VERSION !== '3' || INSTANCE_NO === '1';
let isSick = false;
const server = createServer(({ url }, response) => {
  if (url.endsWith('/sick')) isSick = true;
  const fails = url.endsWith('/health') ? !passes : url.endsWith('/live') && isSick;
  response.writeHead(fails ? 500 : 200).end(`Hello from version ${VERSION}, task ${TASK_ID}\n`);
}).listen(Number(PORT), '127.0.0.1');
process.on('SIGTERM', () => server.close(() => process.exit(0)));
