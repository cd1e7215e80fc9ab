// A process of receivers: one address that takes everything and notes when it came, one that hangs, one that answers 500, one
// that answers without end.
import { createServer } from 'node:http';

const now = () => performance.timeOrigin + performance.now();
const arrivals = [];
let inFlight = 0;
let most = 0;

const serve = (answer) =>
  new Promise((resolve) => {
    const server = createServer((request, response) => {
      most = Math.max(most, ++inFlight);
      response.on('close', () => inFlight--);
      response.on('error', () => undefined);
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => answer(response, text));
    });
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`));
  });

const urls = {
  healthy: await serve((response, text) => {
    arrivals.push(JSON.parse(text).message, now());
    response.writeHead(200).end();
  }),
  hanging: await serve(() => undefined),
  failing: await serve((response) => response.writeHead(500).end()),
  endless: await serve((response) => {
    const chunk = Buffer.alloc(65_536, 'x');
    const more = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more);
    };
    response.writeHead(500);
    more();
  }),
};
process.send({ urls });
process.on('message', () => process.send({ arrivals, most }));
