// A server that does nothing: it answers each call after as long as the product took for one of its kind, with as many bytes, so that
// who calls has as much to do as with the product. Is told what by its parent, tells it its port, and ends with it.
import { createServer } from 'node:http';

/** By the kind of call: milliseconds and bytes of an answer. */
let answers = {};
process.on('message', (told) => (answers = told));

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    const { millis = 50, bytes = 100 } = answers[request.headers['x-kind']] ?? {};
    setTimeout(() => response.end(Buffer.alloc(bytes, 'x')), millis);
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit(0));
