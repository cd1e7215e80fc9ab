import { createServer, request as call, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';

export interface FrontOptions {
  /** Path of the older installation. */
  base: string;
  staticFiles: string;
  page: () => string;
  /** Absent: it serves the UI alone, whose page names another origin for the API. */
  muster?: () => URL;
  /** By which browsers know it. */
  hostname?: string;
}

/**
 * The server that an operator puts in front (docs/migration.md, "The old web UI"): below one path the files and the
 * page of the UI, and beside them the API of Muster. For the browser all of it is one origin.
 */
export async function startFront({
  base,
  staticFiles,
  page,
  muster,
  hostname = '127.0.0.1',
}: FrontOptions): Promise<Front> {
  const front = express();
  // Their names change with what is in them.
  front.use(`${base}/static`, express.static(staticFiles, { immutable: true, maxAge: '1d' }));
  // Every address of the UI is the same page; its program reads from the address what to show.
  front.get([`${base}/ui`, `${base}/ui/*path`], (_request, response) => void response.type('html').send(page()));
  front.use(`${base}/api`, (request, response) => {
    if (!muster) return void response.sendStatus(404);
    const { method, originalUrl: path, headers } = request;
    const { hostname, port } = muster();
    const passedOn = call({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passedOn.on('error', () => response.destroy());
    response.on('close', () => passedOn.destroy());
    request.pipe(passedOn);
  });
  const server: Server = createServer(front).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://${hostname}:${(server.address() as AddressInfo).port}${base}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface Front {
  /** The page stands below it at /ui. */
  url: string;
  close(): void;
}
