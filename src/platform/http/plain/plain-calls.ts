import { type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request, Response } from 'express';
import { type Head } from './head.js';
import { PlainAnswer, type Wire } from './plain-answer.js';
import { PlainConnection } from './plain-connection.js';

/** Does what a call of this path asks for. */
export type Operation = (request: Request, response: Response) => void;
/** undefined: a call of this address is none for a plain connection. */
export type FindOperation = (url: string) => Operation | undefined;

/**
 * Connections begin as plain ones: as long as what comes are reads of known operations, each whole and alone, they are read and
 * answered without the objects of Node.js, which cost more than all else of a cheap read. The first other thing that comes hands the
 * connection over to the server of Node.js, with the same bytes, for good.
 */
export function answerPlainCalls(server: Server, express: Express, find: FindOperation): void {
  const [handOver] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (!handOver) throw new Error('The server of Node.js takes its connections in another way');
  const make = plainObjects(express);
  const plain = new Set<PlainConnection>();
  server.off('connection', handOver);
  server.prependListener('connection', (socket: Socket) => {
    const leave = (): void => void plain.delete(connection);
    const handedOver = (): void => {
      leave();
      handOver.call(server, socket);
    };
    const connection = new PlainConnection(socket, server, { find, ...make, handOver: handedOver });
    plain.add(connection);
    socket.once('close', leave);
  });
  // Of plain ones the server of Node.js, which ends those that are idle when it is closed, does not know.
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    for (const connection of plain) connection.endIfIdle();
    closeIdle();
  };
}

/** Calls and answers with all that Express adds to them. */
function plainObjects(express: Express) {
  class Call {
    readonly httpVersion = '1.1';
    readonly httpVersionMajor = 1;
    readonly httpVersionMinor = 1;
    readonly method = 'GET';
    readonly complete = true;
    readonly aborted = false;
    readonly url: string;
    readonly rawHeaders: readonly string[];

    constructor(
      { url, rawHeaders, headers }: Head,
      readonly socket: Socket,
    ) {
      this.url = url;
      this.rawHeaders = rawHeaders;
      (this as unknown as Request).headers = headers;
    }
  }
  Object.setPrototypeOf(Call.prototype, express.request);
  class Answer extends PlainAnswer {}
  Object.defineProperties(Answer.prototype, addedTo(express.response));
  const Full = express.response.constructor as typeof ServerResponse;
  return {
    callOf: (head: Head, socket: Socket) => new Call(head, socket) as unknown as Request,
    answerOf: (request: Request, wire: Wire) => new Answer(request, wire),
    fullAnswerOf: (request: Request): Response => new Full(request) as Response,
  };
}

export type PlainObjects = ReturnType<typeof plainObjects>;

/** What Express adds to the answers of Node.js. What a plain answer has of its own is not of these. */
function addedTo(response: object): PropertyDescriptorMap {
  const added: PropertyDescriptorMap = {};
  for (let one = response; one !== ServerResponse.prototype; one = Object.getPrototypeOf(one) as object) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(one)))
      // The constructor among them.
      if (!(name in PlainAnswer.prototype)) added[name] ??= descriptor;
  }
  return added;
}
