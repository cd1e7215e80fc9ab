import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * The answers of each connection that have not ended, the oldest first. All of them end with their connection, in the event `close`:
 * Node.js tells it of the one that is being sent, and of none that waits behind it.
 */
export class UnfinishedAnswers {
  private readonly byConnection = new WeakMap<Duplex, Set<ServerResponse>>();

  constructor(server: Server) {
    server.prependListener('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
      const known = this.byConnection.get(socket) ?? this.follow(socket);
      known.add(answer);
      answer.once('close', () => known.delete(answer));
    });
  }

  of(connection: Duplex): ServerResponse[] {
    return [...(this.byConnection.get(connection) ?? [])].filter(({ writableFinished }) => !writableFinished);
  }

  private follow(connection: Duplex): Set<ServerResponse> {
    const answers = new Set<ServerResponse>();
    this.byConnection.set(connection, answers);
    // After Node.js has told its part.
    connection.once('close', () => process.nextTick(() => [...answers].forEach(end)));
    return answers;
  }
}

function end(answer: ServerResponse): void {
  answer.destroy();
  answer.emit('close');
}
