import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Response } from 'express';
import { HeadReader } from './head.js';
import type { PlainAnswer, Wire } from './plain-answer.js';
import type { FindOperation, PlainObjects } from './plain-calls.js';

interface Means extends PlainObjects {
  find: FindOperation;
  /** To the server of Node.js. */
  handOver: () => void;
}

const bothNeeded = 'Connection: keep-alive\r\nKeep-Alive: timeout=';

/** A connection whose calls have all been plain so far. It is done for when it has been handed over. */
export class PlainConnection implements Wire {
  private readonly reader = new HeadReader();
  private answer: PlainAnswer | undefined;
  private full: Response | undefined;
  private isLast = false;
  /** What came while a call was answered. */
  private waiting: Buffer | undefined;
  private hasCalled = false;

  constructor(
    private readonly socket: Socket,
    private readonly server: Server,
    private readonly means: Means,
  ) {
    // A caller has so long for the first call, and from then on between two of them.
    socket.setTimeout(server.headersTimeout);
    socket.on('timeout', this.onTimeout);
    socket.on('data', this.onData);
    socket.on('end', this.onEnd);
    socket.on('error', this.onError);
    socket.on('close', this.onClose);
    socket.on('drain', this.onDrain);
  }

  send(answer: PlainAnswer, head: string, body: string | Buffer, encoding: BufferEncoding): void {
    const { socket, server } = this;
    this.isLast ||= String(answer.getHeader('Connection') ?? '').toLowerCase() === 'close';
    const seconds = Math.floor(server.keepAliveTimeout / 1_000);
    const kept = answer.hasHeader('Connection')
      ? ''
      : this.isLast
        ? 'Connection: close\r\n'
        : `${bothNeeded}${seconds}\r\n`;
    sendSoon(() => {
      if (!socket.writable) return;
      const all = `${head}Date: ${now()}\r\n${kept}\r\n`;
      if (typeof body === 'string' && encoding === 'latin1') socket.write(all + body, 'latin1');
      else {
        socket.cork();
        socket.write(all, 'latin1');
        if (typeof body === 'string') socket.write(body, encoding);
        else socket.write(body);
        socket.uncork();
      }
      if (socket.writableLength === 0) this.done();
      else socket.write('', () => this.done());
    });
  }

  inFull(answer: PlainAnswer): Response {
    const { socket, server, means } = this;
    const full = means.fullAnswerOf(answer.req);
    Object.assign(full, { shouldKeepAlive: !this.isLast, _keepAliveTimeout: server.keepAliveTimeout });
    full.assignSocket(socket);
    full.once('finish', () => {
      this.full = undefined;
      this.isLast ||= !full.shouldKeepAlive;
      full.detachSocket(socket);
      full.emit('close');
      this.done();
    });
    answer.req.res = full;
    this.full = full;
    return full;
  }

  destroy(): void {
    this.socket.destroy();
  }

  endIfIdle(): void {
    if (!this.answer) this.socket.destroy();
  }

  private readonly onData = (bytes: Buffer): void => {
    if (!this.answer) return this.read(bytes);
    // No call is begun before the one before it is answered.
    this.waiting = this.waiting ? Buffer.concat([this.waiting, bytes]) : bytes;
    this.socket.pause();
  };

  private read(bytes: Buffer): void {
    const head = this.reader.read(bytes);
    const operation = head && this.means.find(head.url);
    if (!operation) return this.handOver(bytes);
    const request = this.means.callOf(head, this.socket);
    const answer = this.means.answerOf(request, this);
    this.answer = answer;
    this.isLast = head.isLast;
    operation(request, answer as unknown as Response);
  }

  /** The answer has gone. */
  private done(): void {
    const { answer, socket, waiting } = this;
    this.answer = undefined;
    answer?.close();
    if (this.isLast) return socket.destroySoon();
    if (!this.hasCalled) {
      this.hasCalled = true;
      socket.setTimeout(this.server.keepAliveTimeout);
    }
    if (!waiting) return;
    this.waiting = undefined;
    socket.resume();
    this.read(waiting);
  }

  private handOver(bytes?: Buffer): void {
    const { socket } = this;
    socket.setTimeout(0);
    socket.off('timeout', this.onTimeout);
    socket.off('data', this.onData);
    socket.off('end', this.onEnd);
    socket.off('error', this.onError);
    socket.off('close', this.onClose);
    socket.off('drain', this.onDrain);
    this.means.handOver();
    if (bytes) socket.unshift(bytes);
  }

  private readonly onTimeout = (): void => {
    if (this.answer) return;
    if (this.hasCalled) return void this.socket.destroy();
    const cause = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    this.server.emit('clientError', cause, this.socket);
  };

  private readonly onEnd = (): void => void this.socket.end();
  private readonly onError = (): void => void this.socket.destroy();
  private readonly onDrain = (): void => void this.full?.emit('drain');
  private readonly onClose = (): void => {
    this.answer?.close();
    this.answer = undefined;
  };
}

let soon: (() => void)[] = [];

/**
 * When the calls that came together have all been looked at, their answers go out one right after the other: the first of them wakes a
 * caller who waits for several, which costs more than to send it, and the others find it awake.
 */
function sendSoon(send: () => void): void {
  if (soon.push(send) > 1) return;
  setImmediate(() => {
    const all = soon;
    soon = [];
    for (const each of all) each();
  });
}

let second = 0;
let date = '';

/** As headers have it. */
function now(): string {
  const millis = Date.now();
  if (millis - second >= 1_000 || millis < second) {
    second = millis - (millis % 1_000);
    date = new Date(second).toUTCString();
  }
  return date;
}
