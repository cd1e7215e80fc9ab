import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express } from 'express';

/**
 * Its calls and answers begin as those of Express. Express would turn each into one when it comes, and to change what an object
 * is costs more than all else that is done with it.
 */
export class HttpAdapter extends ExpressAdapter {
  override initHttpServer({ forceCloseConnections }: NestApplicationOptions): void {
    class Call extends IncomingMessage {}
    class Answer extends ServerResponse {}
    const express = this.getInstance<Express>();
    Object.setPrototypeOf(Call.prototype, express.request);
    Object.setPrototypeOf(Answer.prototype, express.response);
    Object.assign(express, { request: Call.prototype, response: Answer.prototype });
    this.setHttpServer(createServer({ IncomingMessage: Call, ServerResponse: Answer }, express));
    const framework = this as unknown as { trackOpenConnections(): void };
    if (forceCloseConnections) framework.trackOpenConnections();
  }
}
