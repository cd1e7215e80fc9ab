import type { IncomingMessage, ServerResponse } from 'node:http';
import { discard } from '../raw/body.js';
import type { RestResponse } from '../raw/message.js';

/** Time for the rest of an unread upload after the answer, so that its sender gets to read the answer. */
const DRAIN_MS = 5_000;

export async function writeResponse(
  message: IncomingMessage,
  out: ServerResponse,
  response: RestResponse,
): Promise<void> {
  const { body, headers, status } = response;
  if (out.destroyed) return discard(body);
  out.statusCode = status;
  for (const [name, value] of headers) out.appendHeader(name, value);
  if (body.kind !== 'empty') out.setHeader('Content-Type', body.mediaType);
  if (!message.complete) out.once('finish', () => drain(message));
  switch (body.kind) {
    case 'empty':
      if (status !== 204 && status !== 304 && !out.hasHeader('Content-Length') && message.method !== 'HEAD')
        out.setHeader('Content-Length', 0);
      out.end();
      return;
    case 'text':
      out.setHeader('Content-Length', Buffer.byteLength(body.content));
      out.end(body.content);
      return;
    case 'bytes':
      out.setHeader('Content-Length', body.content.byteLength);
      out.end(body.content);
      return;
    case 'stream':
      if (body.length !== undefined) out.setHeader('Content-Length', body.length);
      await writeStream(out, body.content);
  }
}

/** One chunk at a time, the next only when the socket has taken the last. */
async function writeStream(out: ServerResponse, content: AsyncIterable<Uint8Array>): Promise<void> {
  const chunks = content[Symbol.asyncIterator]();
  const stop = () => void chunks.return?.().catch(() => undefined);
  out.once('close', stop);
  out.flushHeaders();
  try {
    for (let step = await chunks.next(); !step.done; step = await chunks.next()) {
      if (out.destroyed) return;
      if (!out.write(step.value)) await writable(out);
    }
    out.off('close', stop);
    out.end();
  } catch {
    // Ending it here would make half an answer look whole. The server has reported why.
    out.destroy();
  }
}

const writable = (out: ServerResponse) =>
  new Promise<void>((resolve) => {
    const done = () => {
      out.off('drain', done);
      out.off('close', done);
      resolve();
    };
    out.once('drain', done);
    out.once('close', done);
  });

function drain(message: IncomingMessage): void {
  if (message.complete) return;
  message.resume();
  const timer = setTimeout(() => message.socket.destroy(), DRAIN_MS);
  timer.unref();
  message.once('end', () => clearTimeout(timer));
  message.once('close', () => clearTimeout(timer));
}
