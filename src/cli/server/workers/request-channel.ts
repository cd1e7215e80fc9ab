import type { Worker } from 'node:cluster';
import type { Socket } from 'node:net';

type Argument<Method> = Method extends (argument: infer Each) => unknown ? Each : undefined;
type Reply<Method> = Method extends (...parameters: never[]) => infer Each ? Each : never;

type Handlers<Requests> = {
  [Kind in keyof Requests]: (
    argument: Argument<Requests[Kind]>,
    socket?: Socket,
  ) => Reply<Requests[Kind]> | Promise<Reply<Requests[Kind]>>;
};

/** `id` is absent where no reply is wanted. */
type Request<Kind> = { kind: Kind; argument: unknown; id?: number };
type Envelope = Request<PropertyKey> | { replyTo: number; reply: unknown };

/** Requests to another process over the channel of node:cluster, and the replies to them; each side names what it may be asked. */
export class RequestChannel<Outgoing, Incoming> {
  private readonly pending = new Map<number, (reply: unknown) => void>();
  private lastId = 0;

  /** `peer`: as node:cluster has it on either side. */
  constructor(
    private readonly peer: Worker,
    private readonly handlers: Handlers<Incoming>,
  ) {
    peer.on('message', (message: Envelope, socket?: Socket) => void this.receive(message, socket));
  }

  /** undefined, too: there was no reply in time, or the other process has ended. */
  request<Kind extends keyof Outgoing>(
    kind: Kind,
    argument: Argument<Outgoing[Kind]>,
    withinMillis?: number,
  ): Promise<Reply<Outgoing[Kind]> | undefined> {
    const id = ++this.lastId;
    return new Promise((resolve) => {
      const settle = (reply: unknown): void => {
        clearTimeout(late);
        this.pending.delete(id);
        resolve(reply as Reply<Outgoing[Kind]> | undefined);
      };
      const late = withinMillis === undefined ? undefined : setTimeout(settle, withinMillis, undefined);
      this.pending.set(id, settle);
      void this.send({ kind, argument, id });
    });
  }

  notify<Kind extends keyof Outgoing>(kind: Kind, argument: Argument<Outgoing[Kind]>, socket?: Socket): Promise<void> {
    return this.send({ kind, argument }, socket);
  }

  private async receive(message: Envelope, socket?: Socket): Promise<void> {
    if ('replyTo' in message) return this.pending.get(message.replyTo)?.(message.reply);
    const { kind, argument, id } = message as Request<keyof Incoming>;
    const reply = await this.handlers[kind](argument as Argument<Incoming[typeof kind]>, socket);
    if (id !== undefined) void this.send({ replyTo: id, reply });
  }

  /** The other process has ended. */
  close(): void {
    for (const settle of this.pending.values()) settle(undefined);
  }

  /** Resolves when the message is on its way, also where it cannot arrive any more. A socket stays open here as well. */
  private send(message: Envelope, socket?: Socket): Promise<void> {
    return new Promise((resolve) => {
      if (!this.peer.isConnected()) resolve();
      else this.peer.send(message, socket, { keepOpen: true }, () => resolve());
    });
  }
}
