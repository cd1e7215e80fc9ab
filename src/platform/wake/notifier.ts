import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, discard } from '../database/connection.js';
import { Wake, wakeTopics, type WakeTopic } from './wake.js';

export const channel = 'muster_wake';
/** All commits of a database wait for each other's NOTIFY, so there is at most one in flight and one in this time. */
const notifyEveryMillis = 5;
const answerTimeoutMillis = 5_000;
const longestPauseMillis = 5_000;

/**
 * Carries wake topics between instances. One connection listens and never opens a transaction, another one notifies.
 * What is lost on the way costs a timer period: nothing depends on a message.
 */
export class Notifier {
  private readonly log = new Logger('Notifier');
  private readonly instance = randomUUID();
  private readonly waiting = new Set<WakeTopic>();
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
    this.removeRelay = this.wake.addRelay((topic) => this.send(topic));
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

  private send(topic: WakeTopic): void {
    this.waiting.add(topic);
    this.sending ??= this.sendWaiting().finally(() => (this.sending = undefined));
  }

  private async sendWaiting(): Promise<void> {
    while (this.waiting.size > 0) {
      const payload = [this.instance, ...this.waiting].join(' ');
      this.waiting.clear();
      try {
        this.sender ??= await connect(this.url, 'notify', answerTimeoutMillis);
        await this.sender.query('SELECT pg_notify($1, $2)', [channel, payload]);
      } catch (cause) {
        this.log.debug(`A wake-up is lost; timers make up for it: ${String(cause)}`);
        if (this.sender) discard(this.sender);
        this.sender = undefined;
      }
      if (!this.stopping.signal.aborted) await delay(notifyEveryMillis);
    }
  }

  /** Reconnects for ever. After each reconnect everything is woken, because messages may have been missed. */
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
        if (failuresInRow++ === 0) this.log.warn(`Cannot listen for wake-ups, trying again: ${String(cause)}`);
      }
      if (this.listener) discard(this.listener);
      this.listener = undefined;
      const pause = Math.min(longestPauseMillis, 100 * 2 ** failuresInRow);
      await delay(pause, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  private receive(payload: string): void {
    const known: readonly string[] = wakeTopics;
    const [sender, ...topics] = payload.split(' ');
    // What this process sends it has already told itself.
    if (sender === this.instance) return;
    for (const topic of topics) if (known.includes(topic)) this.wake.signalHere(topic as WakeTopic);
  }
}
