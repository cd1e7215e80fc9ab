import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';

/**
 * The answers of each connection that have not ended, the oldest first. All of them end with their connection, in the event `close`:
 * Node.js tells it of the one that is being sent, and of none that waits behind it. The streams that they are made of end with them.
 */
export class UnfinishedAnswers {
  private readonly byConnection = new WeakMap<Duplex, Set<ServerResponse>>();
  private readonly sources = new WeakMap<ServerResponse, Readable>();

  constructor(server: Server) {
    server.prependListener('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
      const known = this.byConnection.get(socket) ?? this.follow(socket);
      for (const former of known) {
        // They end in their order.
        if (!former.closed) break;
        known.delete(former);
      }
      known.add(answer);
      answer.on('pipe', (source: Readable) => {
        if (answer.destroyed) source.destroy();
        else this.sources.set(answer, source);
      });
    });
  }

  of(connection: Duplex): ServerResponse[] {
    const known = this.byConnection.get(connection) ?? [];
    return [...known].filter(({ closed, writableFinished }) => !closed && !writableFinished);
  }

  /** The answer to the call that is being read, which may have ended all the same; undefined: none is. */
  toUnreadCall(connection: Duplex): ServerResponse | undefined {
    const last = [...(this.byConnection.get(connection) ?? [])].at(-1);
    return last?.req.complete ? undefined : last;
  }

  private follow(connection: Duplex): Set<ServerResponse> {
    const answers = new Set<ServerResponse>();
    this.byConnection.set(connection, answers);
    // After Node.js has told its part.
    connection.once('close', () =>
      process.nextTick(() => {
        for (const answer of answers) if (!answer.closed) this.end(answer);
      }),
    );
    return answers;
  }

  private end(answer: ServerResponse): void {
    answer.destroy();
    answer.emit('close');
    this.sources.get(answer)?.destroy();
  }
}
