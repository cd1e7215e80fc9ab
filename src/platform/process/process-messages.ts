import type { Wake, WakeKeys, WakeTopic } from '../wake/wake.js';

/** Messages that the processes of an instance publish to each other past the database. */
export interface ProcessTopics {
  /** Cached values are out of date: all of a topic, or those of some keys. */
  invalidation: { topic: WakeTopic; keys: WakeKeys };
  'wrong-proof': { address: string; digest: string };
  'token-created': { owner: string };
}

export type ProcessMessage = {
  [Topic in keyof ProcessTopics]: { topic: Topic; content: ProcessTopics[Topic] };
}[keyof ProcessTopics];

/** Signals of these topics invalidate what each process caches; all others travel by the database alone. */
const cachedTopics: ReadonlySet<WakeTopic> = new Set(['actions', 'tokens']);

/**
 * Publish and subscribe between the processes of an instance, for what each of them holds in memory although it is true for all: so a
 * bound holds for the sum, and a change is known to all before its caller is answered. A message that is lost costs what it costs
 * between instances.
 */
export class ProcessMessages {
  private readonly listeners = new Map<keyof ProcessTopics, (content: never) => void>();
  private readonly undelivered = new Set<Promise<void>>();

  /** `send` resolves when all other processes have received it, or do not reply. */
  constructor(private readonly send: (message: ProcessMessage) => Promise<void>) {}

  publish<Topic extends keyof ProcessTopics>(topic: Topic, content: ProcessTopics[Topic]): void {
    const sent = this.send({ topic, content } as ProcessMessage).finally(() => this.undelivered.delete(sent));
    this.undelivered.add(sent);
  }

  /** A topic has one listener. */
  subscribe<Topic extends keyof ProcessTopics>(topic: Topic, listener: (content: ProcessTopics[Topic]) => void): void {
    this.listeners.set(topic, listener);
  }

  /** Delivers what another process has published. */
  receive({ topic, content }: ProcessMessage): void {
    this.listeners.get(topic)?.(content as never);
  }

  /** Resolves when the others have received what was published by now. */
  async delivered(): Promise<void> {
    if (this.undelivered.size > 0) await Promise.all(this.undelivered);
  }

  /** Publishes the signals that invalidate what others cache, and signals here what others publish of them. */
  relayInvalidations(wake: Wake): void {
    this.subscribe('invalidation', ({ topic, keys }) => wake.signalHere(topic, keys));
    wake.addRelay((topic, keys) => {
      if (cachedTopics.has(topic)) this.publish('invalidation', { topic, keys });
    });
  }
}

/** A process without others has nobody to publish to. */
export const noOtherProcess = (): ProcessMessages => new ProcessMessages(() => Promise.resolve());
