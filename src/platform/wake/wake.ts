import { Injectable } from '@nestjs/common';

/** What somebody may be waiting for. A topic says "look again", never what changed. */
export const wakeTopics = [
  /** An action was switched off or on. */
  'actions',
  'scheduler',
  'dispatch',
  'deploys',
  'cleanup',
  /** A task has to enter or to leave the load balancer, or a service goes. */
  'load-balancer',
  'expiring',
  /** Somebody wants a command to be run in a task. */
  'shell-commands',
  'webhooks',
  'history',
  /** Somebody asked to convert the payloads of an older installation. */
  'history-backfill',
  /** An operator changed the state of a machine. */
  'machines',
  /** The record of a machine was removed: those that the cluster lists are to be stored again. */
  'fleet',
  /** Somebody doubts what is known of a task: the machines are to be asked. */
  'reconcile',
  /** The lease was given back: whoever competes need not wait for its timer. */
  'leadership',
] as const;
export type WakeTopic = (typeof wakeTopics)[number];

/**
 * Tells the leader's pollers that there is something to do, so that nobody waits for a timer.
 * Call signal after the commit, never inside a transaction. A lost signal costs one timer period and nothing else.
 */
@Injectable()
export class Wake {
  private readonly listeners = new Map<WakeTopic, Set<() => void>>();
  private readonly relays = new Set<(topic: WakeTopic) => void>();

  /** Wakes listeners in this process, and (through the relays) in every other instance. */
  signal(...topics: WakeTopic[]): void {
    for (const topic of topics) {
      this.signalHere(topic);
      for (const relay of this.relays) relay(topic);
    }
  }

  /** Wakes listeners in this process only: what a message from another instance does. */
  signalHere(topic: WakeTopic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  on(topic: WakeTopic, listener: () => void): () => void {
    const set = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, set.add(listener));
    return () => set.delete(listener);
  }

  /** The notifier of the database registers here to carry topics to other instances. */
  addRelay(relay: (topic: WakeTopic) => void): () => void {
    this.relays.add(relay);
    return () => this.relays.delete(relay);
  }
}
