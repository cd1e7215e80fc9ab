/*
 * Tries again and again to take the places given, as a task may while their programs are down: "tcp:<port>", "abstract:<name>" or
 * "path:<socket>". Says what it has taken, and what it was told there: it asks everybody for the password in clear text.
 */
import { createServer } from 'node:net';

const askForPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

for (const place of process.argv.slice(1)) {
  const [, kind, name] = /^(tcp|abstract|path):(.*)$/s.exec(place) ?? [];
  const where =
    kind === 'tcp' ? { host: '127.0.0.1', port: Number(name) } : { path: kind === 'path' ? name : `\0${name}` };
  const take = () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        console.log(`TOLD ${place} ${JSON.stringify(chunk.toString('latin1'))}`);
        socket.write(askForPassword);
      });
    });
    server.on('error', () => setTimeout(take, 20));
    server.listen({ ...where, exclusive: true }, () => console.log(`TOOK ${place}`));
  };
  take();
}
console.log('TRIES');
