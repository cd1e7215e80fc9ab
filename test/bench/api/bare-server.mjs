// A node http server that does nothing: answers every call with as many bytes as the path says. Tells its port to its
// parent and ends with it.
import { createServer } from 'node:http';

const bodies = new Map();
const bodyOf = (size) => bodies.get(size) ?? bodies.set(size, Buffer.alloc(size, 'x')).get(size);

const server = createServer((request, response) => {
  const body = bodyOf(Number(request.url.slice(1)));
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit(0));
