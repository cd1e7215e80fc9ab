import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { StartError } from '../../../platform/errors.js';
import type { Figures } from '../../../platform/process/part.js';
import type { Word } from '../../../platform/process/words.js';
import type { Answer, Beginning, Failure, FromWorker, Question, ToWorker } from './messages.js';
import { Unanswered } from './unanswered.js';

const startsWithinMillis = 60_000;
const answersWithinMillis = 1_000;
/** Of the looks at it, one after the other, between which it may say nothing. A busy one answers late. */
const mostSilent = 6;
/** It comes last, as long as there are others. */
const burdenOfSilent = 1_000;
/** One that leaves a connection waiting for longer may have stopped. */
const takesWithinMillis = 250;
const untilReadMillis = 50;
const program = fileURLToPath(new URL('worker.js', import.meta.url));

export type Given = Omit<Beginning, 'kind' | 'number'>;

interface Listener {
  /** It is given connections from now on. */
  serves: () => void;
  /** It tells all other processes; resolves when they have heard it. */
  tells: (word: Word) => Promise<void>;
}

/** Where one API worker is after the other. */
export class Place {
  /** Of the present one, when it was last asked. */
  figures: Figures = [];
  serves = false;
  private worker: ChildProcess | undefined;
  /** What is on its way to it, by number, the oldest first. */
  private readonly onTheWay = new Map<number, { socket: Socket; since: number }>();
  private lastNo = 0;
  private readonly unanswered = new Unanswered();
  private isHeard = false;
  private silent = 0;
  private isOver = false;
  private asking: Promise<void> | undefined;

  constructor(readonly number: number) {}

  get pid(): number | undefined {
    return this.worker?.pid;
  }

  /** Connections that it has yet to take; more where it says nothing, or leaves them waiting. */
  get burden(): number {
    const [oldest] = this.onTheWay.values();
    const isLate = oldest !== undefined && performance.now() - oldest.since > takesWithinMillis;
    return this.onTheWay.size + (this.silent > 0 || isLate ? burdenOfSilent : 0);
  }

  /** Resolves when it has ended. `id`: it did serve. */
  async fill(given: Given, listener: Listener): Promise<{ id?: string; pid?: number; cause: Error }> {
    // Bounds without end are numbers in figures and settings, which JSON has none for.
    const worker = fork(program, [], { serialization: 'advanced' });
    const { pid } = worker;
    this.worker = worker;
    this.figures = [];
    this.silent = 0;
    let id: string | undefined;
    let cause: Error | undefined;
    const late = setTimeout(() => worker.kill('SIGKILL'), startsWithinMillis);
    worker.on('message', (message: FromWorker) => {
      this.isHeard = true;
      if (message.kind === 'ready')
        this.send(this.isOver ? { kind: 'stop' } : { kind: 'begin', number: this.number, ...given });
      else if (message.kind === 'serves') {
        clearTimeout(late);
        ({ id } = message);
        this.serves = true;
        listener.serves();
      } else if (message.kind === 'failed') cause = errorOf(message.failure);
      else if (message.kind === 'took') this.took(message.no);
      else if (message.kind === 'answer') this.answered(message);
      else void listener.tells(message.word).then(() => this.send({ kind: 'heard', no: message.no }));
    });
    worker.once('disconnect', () => (this.serves = false));
    const ended = await new Promise<Error>((resolve) => {
      worker.once('exit', (code, signal) => resolve(new Error(signal ?? `exit code ${code}`)));
      // Without a process there is no exit; with one, a message that did not reach it is no end.
      worker.on('error', (failed) => worker.pid === undefined && resolve(failed));
    });
    this.serves = false;
    // What it has said is read by then. No event tells: that of the channel stays away while connections are on their way.
    await delay(untilReadMillis);
    clearTimeout(late);
    this.worker = undefined;
    this.unanswered.giveUp();
    return { id, pid, cause: cause ?? ended };
  }

  /** Kept open here until the worker has it: should that end before, another one gets it. */
  take(socket: Socket): void {
    const no = ++this.lastNo;
    this.onTheWay.set(no, { socket, since: performance.now() });
    this.worker?.send({ kind: 'connection', no } satisfies ToWorker, socket, { keepOpen: true }, () => undefined);
  }

  private took(no: number): void {
    // Closes it in this process alone.
    this.onTheWay.get(no)?.socket.destroy();
    this.onTheWay.delete(no);
  }

  leftOver(): Socket[] {
    const left = [...this.onTheWay.values()].map(({ socket }) => socket);
    this.onTheWay.clear();
    return left.filter(({ destroyed }) => !destroyed);
  }

  /** Also one that has yet to begin. */
  stop(): void {
    this.isOver = true;
    this.send({ kind: 'stop' });
  }

  kill(): void {
    this.worker?.kill('SIGKILL');
  }

  /** To be called again and again. One that says nothing for long is ended, so that another one takes its place. True: it is. */
  look(): boolean {
    if (!this.worker || !this.serves) return false;
    this.silent = this.isHeard ? 0 : this.silent + 1;
    this.isHeard = false;
    if (this.silent >= mostSilent) return this.worker.kill('SIGKILL');
    void this.ask({ what: 'is it there' });
    return false;
  }

  /** One that is too busy to answer in time keeps what it said before. */
  askFigures(): Promise<void> {
    this.asking ??= this.ask({ what: 'figures' }).finally(() => (this.asking = undefined));
    return this.asking;
  }

  hear(word: Word): Promise<void> {
    return this.ask({ what: 'hear', word });
  }

  /** What stays true of the one that has ended. */
  counted(): Figures {
    const counted = this.figures.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.figures = [];
    return counted;
  }

  /** Resolves when it has answered, does not in time, or has ended. */
  private ask(question: Question): Promise<void> {
    if (!this.serves) return Promise.resolve();
    return this.unanswered.ask(answersWithinMillis, (no) => this.send({ kind: 'ask', no, question }));
  }

  private answered({ no, figures }: Answer): void {
    this.figures = figures ?? this.figures;
    this.unanswered.answered(no);
  }

  private send(message: ToWorker): void {
    if (this.worker?.connected) this.worker.send(message, () => undefined);
  }
}

const errorOf = ({ isStartError, message, ...rest }: Failure): Error =>
  Object.assign(isStartError ? new StartError(message) : new Error(message), rest);
