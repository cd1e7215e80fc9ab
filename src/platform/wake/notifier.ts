import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { backOffMillis } from '../../core/back-off.js';
import { connect, discard, withParameters } from '../database/connection.js';
import { addToWakeSet, Wake, wakeTopics, type WakeKeys, type WakeTopic, type WakeSet } from './wake.js';

export const channel = 'muster_wake';
/** All commits of a database wait for each other's NOTIFY, so there is at most one in flight and one in this time. */
const notifyEveryMillis = 5;
/** PostgreSQL takes less than 8000 bytes. */
const longestPayload = 7_000;
const answerTimeoutMillis = 5_000;
const firstPauseMillis = 100;
const longestPauseMillis = 5_000;

/**
 * Carries wake topics between instances, with the ids of the requests they are about when those are few: `deploys=web,api`.
 * (Ids are made of letters, digits, '_' and '-'.) One connection listens and never opens a transaction, another one notifies.
 * What is lost on the way costs a timer period: nothing depends on a message.
 */
export class Notifier {
  private readonly log = new Logger('Notifier');
  private readonly instance = randomUUID();
  private readonly waiting = new Map<WakeTopic, WakeSet>();
  private sending: Promise<void> | undefined;
  private sender: Client | undefined;
  private listener: Client | undefined;
  private stopping = new AbortController();
  private listening: Promise<void> | undefined;
  private removeRelay: (() => void) | undefined;

  constructor(
    private readonly url: string,
    private readonly wake: Wake,
  ) {}

  start(): void {
    this.removeRelay = this.wake.addRelay((topic, keys) => this.send(topic, keys));
    this.listening = this.listen();
  }

  /** Sends what still waits, then closes both connections. */
  async stop(): Promise<void> {
    this.removeRelay?.();
    this.stopping.abort();
    await this.sending;
    if (this.listener) discard(this.listener);
    await this.listening;
    if (this.sender) discard(this.sender);
  }

  private send(topic: WakeTopic, keys: WakeKeys): void {
    this.waiting.set(topic, addToWakeSet(this.waiting.get(topic), keys));
    this.sending ??= this.sendWaiting().finally(() => (this.sending = undefined));
  }

  private async sendWaiting(): Promise<void> {
    while (this.waiting.size > 0) {
      const payload = this.payload();
      this.waiting.clear();
      try {
        this.sender ??= await this.connectSender();
        await this.sender.query('SELECT pg_notify($1, $2)', [channel, payload]);
      } catch (cause) {
        this.log.debug(`A wake-up was lost; timers replace it: ${String(cause)}`);
        if (this.sender) discard(this.sender);
        this.sender = undefined;
      }
      if (!this.stopping.signal.aborted) await delay(notifyEveryMillis);
    }
  }

  /** A wake-up need not outlive the server: its commit waits for no disk. */
  private async connectSender(): Promise<Client> {
    return connect(withParameters(this.url, { synchronous_commit: 'off' }), 'notify', answerTimeoutMillis);
  }

  private payload(): string {
    const topics = [...this.waiting].map(([topic, wanted]) =>
      wanted === 'all' ? topic : `${topic}=${[...wanted].join(',')}`,
    );
    const payload = [this.instance, ...topics].join(' ');
    return payload.length <= longestPayload ? payload : [this.instance, ...this.waiting.keys()].join(' ');
  }

  /** Reconnects without end. After each reconnect everything is woken, because messages may have been missed. */
  private async listen(): Promise<void> {
    let failuresInRow = 0;
    while (!this.stopping.signal.aborted) {
      try {
        const client = await connect(this.url, 'listen', answerTimeoutMillis);
        const broken = new Promise<void>((resolve) => client.once('end', resolve));
        client.on('notification', (message) => this.receive(message.payload ?? ''));
        this.listener = client;
        await client.query(`LISTEN ${channel}`);
        failuresInRow = 0;
        for (const topic of wakeTopics) this.wake.signalHere(topic);
        if (!this.stopping.signal.aborted) await broken;
      } catch (cause) {
        if (failuresInRow++ === 0) this.log.warn(`Cannot listen for wake-ups; retrying: ${String(cause)}`);
      }
      if (this.listener) discard(this.listener);
      this.listener = undefined;
      const pause = backOffMillis(failuresInRow + 1, firstPauseMillis, longestPauseMillis);
      await delay(pause, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  private receive(payload: string): void {
    const known: readonly string[] = wakeTopics;
    const [sender, ...topics] = payload.split(' ');
    // What this process sends it has already told itself.
    if (sender === this.instance) return;
    for (const entry of topics) {
      const [topic = '', keys] = entry.split('=');
      if (known.includes(topic)) this.wake.signalHere(topic as WakeTopic, keys?.split(','));
    }
  }
}
