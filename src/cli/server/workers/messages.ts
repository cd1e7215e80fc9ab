import type { Figures, Doorway } from '../../../platform/process/part.js';
import type { Word } from '../../../platform/process/words.js';
import type { Settings } from '../../../platform/settings/settings.js';

/** What an API worker needs to begin. It comes by the channel of processes: an environment can be read by others. */
export interface Beginning {
  kind: 'begin';
  number: number;
  settings: Settings & { databaseUrl: string };
  agentFolder: string;
  instanceId: string;
  doorway: Doorway;
  port: number;
  /** To the database, for calls. */
  connections: number;
}

export type Question = { what: 'is it there' } | { what: 'figures' } | { what: 'hear'; word: Word };

/** `connection` brings a socket along. `heard`: the others have heard what it told. */
export type ToWorker =
  | Beginning
  | { kind: 'connection'; no: number }
  | { kind: 'ask'; no: number; question: Question }
  | { kind: 'heard'; no: number }
  | { kind: 'stop' };

/** Members of an error by which its reader tells what is wrong; the error itself does not go from process to process. */
export interface Failure {
  message: string;
  stack?: string;
  isStartError: boolean;
  code?: string;
  syscall?: string;
  address?: string;
  port?: number;
}

/** To a question. */
export interface Answer {
  kind: 'answer';
  no: number;
  figures?: Figures;
}

export type FromWorker =
  /** It listens to messages: what comes earlier is lost. */
  | { kind: 'ready' }
  | { kind: 'serves'; id: string }
  /** From now on this connection ends with the worker; until then another one can be given it. */
  | { kind: 'took'; no: number }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'tell'; no: number; word: Word }
  | Answer;
