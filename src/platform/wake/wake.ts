import { Injectable } from '@nestjs/common';
import { outsideOfCalls } from '../database/permits.js';

/** Topics that a poller may wait for. A topic says "look again", at most at which records, never what changed. */
export const wakeTopics = [
  /** An action was switched off or on. */
  'actions',
  'scheduler',
  'dispatch',
  /** The run time of a task is to be looked at sooner than was planned. */
  'jobs',
  'deploys',
  /** A gate of a deploy was opened: it may be measured now. */
  'gates',
  'cleanup',
  /** A task has to enter or to leave the load balancer, or a service goes. */
  'load-balancer',
  'expiring',
  /** A command is to be run in a task. */
  'shell-commands',
  'webhooks',
  /** Something happened that may be told by mail. */
  'mails',
  /** The event stream has something to tell. */
  'events',
  'history',
  /** A run has ended that others may follow. */
  'flows',
  /** The payloads of an older installation are to be converted. */
  'history-backfill',
  /** An operator changed the state of a machine. */
  'machines',
  /** The record of a machine was removed: those that the cluster lists are to be stored again. */
  'fleet',
  /** The state of a task is in doubt: the machines are to be asked. */
  'reconcile',
  /** The lease was given back: an instance that competes need not wait for its timer. */
  'leadership',
  /** Tokens were revoked; the keys are their ids. */
  'tokens',
] as const;
export type WakeTopic = (typeof wakeTopics)[number];

/** Ids of the records to look at; undefined: all of them. */
export type WakeKeys = readonly string[] | undefined;

/** Records that several signals together ask to look at. */
export type WakeSet = 'all' | Set<string>;

export function addToWakeSet(wanted: WakeSet | undefined, keys: WakeKeys): WakeSet {
  if (wanted === 'all' || keys === undefined) return 'all';
  const together = wanted ?? new Set();
  for (const key of keys) together.add(key);
  return together;
}

type Listener = (keys: WakeKeys) => void;
type Relay = (topic: WakeTopic, keys: WakeKeys) => void;

/**
 * Tells the leader's pollers that there is something to do, so that no change waits for a timer.
 * Call signal after the commit, never inside a transaction. A lost signal costs one timer period and nothing else.
 */
@Injectable()
export class Wake {
  private readonly listeners = new Map<WakeTopic, Set<Listener>>();
  private readonly relays = new Set<Relay>();

  /** Wakes listeners in this process, and (through the relays) in every other instance. */
  signal(...topics: WakeTopic[]): void {
    this.tell(topics, undefined);
  }

  /**
   * Signals a change that is about these requests (or tokens) only: listeners that look at single ones leave the others
   * out.
   */
  signalOf(ids: readonly string[], ...topics: WakeTopic[]): void {
    if (ids.length > 0) this.tell(topics, ids);
  }

  /** Wakes listeners in this process only: what a message from another instance does. */
  signalHere(topic: WakeTopic, keys?: WakeKeys): void {
    for (const listener of this.listeners.get(topic) ?? []) listener(keys);
  }

  on(topic: WakeTopic, listener: Listener): () => void {
    const set = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, set.add(listener));
    return () => set.delete(listener);
  }

  /** The notifier of the database registers here to carry topics to other instances. */
  addRelay(relay: Relay): () => void {
    this.relays.add(relay);
    return () => this.relays.delete(relay);
  }

  private tell(topics: readonly WakeTopic[], keys: WakeKeys): void {
    outsideOfCalls(() => {
      for (const topic of topics) {
        this.signalHere(topic, keys);
        for (const relay of this.relays) relay(topic, keys);
      }
    });
  }
}
