// A process full of clients of the event stream: notes when each event came to each of them.
import { connect } from 'node:net';

const arrivals = [];
let open = 0;

/** epoch milliseconds, with fractions. */
const now = () => performance.timeOrigin + performance.now();

function listen(url) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let rest = '';
  let isOpen = false;
  socket.setEncoding('latin1');
  socket.write(`GET /api/events HTTP/1.1\r\nHost: ${hostname}\r\nAccept: text/event-stream\r\n\r\n`);
  socket.on('data', (text) => {
    const at = now();
    rest += text;
    if (!isOpen && rest.includes('retry:')) {
      isOpen = true;
      open++;
      process.send({ open });
    }
    const end = rest.lastIndexOf('\n\n');
    if (end === -1) return;
    for (const [, id] of rest.slice(0, end + 1).matchAll(/id: (\d+)\nevent: SLAVE/g)) arrivals.push(Number(id), at);
    rest = rest.slice(end + 2);
  });
  socket.on('close', () => process.send({ closed: true }));
}

process.on('message', ({ urls, finish }) => {
  if (urls) for (const url of urls) listen(url);
  if (finish) process.send({ arrivals: Float64Array.from(arrivals) });
});
