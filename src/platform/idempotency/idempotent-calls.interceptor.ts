import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Database } from '../database/database.js';
import { beforeEachCommit } from '../database/permits.js';
import { SchedulerError } from '../errors.js';
import { Around } from '../http/around.js';
import { userOf } from '../http/caller.js';
import { KeptAnswer } from '../http/kept-answer.js';
import { ThisInstance } from '../leadership/this-instance.js';
import { Pollers } from '../poller/pollers.js';
import { SETTINGS, type Settings } from '../settings/settings.js';
import { mayBeRepeated } from './repeatable.js';
import { IdempotentCallRepository, type Claim, type KeptCall } from './idempotent-call.repository.js';

const header = 'Idempotency-Key';
const methods = new Set(['POST', 'PUT', 'DELETE']);
const acceptableKey = /^[\x21-\x7e]{1,255}$/;
/** Larger answers are not kept: a repeated call is told that it was done. */
const longestBody = 262_144;
/** Worth trying again, so the next call with the key is the first one, unless this one has changed something. */
const isPassing = (status: number): boolean => status >= 500 || status === 429 || status === 408;
const cleanedEveryMillis = 3_600_000;
const removedAtOnce = 10_000;

/**
 * A call with the header Idempotency-Key is done once: its repetition is given the first answer. Its transactions note in the
 * same commit that it has acted, so that this holds when the process dies in between.
 */
@Injectable()
export class IdempotentCalls extends Around {
  private readonly log = new Logger(IdempotentCalls.name);
  /** Claims of the calls that this process is doing. */
  private readonly running = new Set<string>();

  constructor(
    private readonly db: Database,
    private readonly store: IdempotentCallRepository,
    private readonly instance: ThisInstance,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    super();
    pollers.register({ name: 'idempotent-calls', everyMs: cleanedEveryMillis, pass: () => this.clean() });
  }

  begin(context: ExecutionContext): undefined | Promise<undefined> {
    const request = context.switchToHttp().getRequest<Request>();
    const key = methods.has(request.method) ? request.get(header) : undefined;
    if (key === undefined || !request.path.startsWith('/api/') || mayBeRepeated(context)) return undefined;
    return this.once(request, context.switchToHttp().getResponse<Response>(), key);
  }

  private async once(request: Request, response: Response, key: string): Promise<undefined> {
    if (!acceptableKey.test(key)) {
      const message = `${header} must be 1 to 255 visible ASCII characters`;
      throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: header, rule: 'matches', message }]);
    }
    const claim = this.claimOf(request, key);
    this.running.add(claim.claim);
    try {
      await this.take(claim, response);
    } catch (cause) {
      this.running.delete(claim.claim);
      throw cause;
    }
    beforeEachCommit(async (tx) => {
      if (!(await this.store.noteActed(tx, claim))) throw isBeingDone();
    });
    this.keepAnswer(response, claim);
  }

  /** Removes what clients need no more. */
  async clean(): Promise<void> {
    const { idempotencyKeyHours: hours } = this.settings.http;
    while (
      (await this.db.leaderTransaction((tx) => this.store.removeOlder(tx, hours, removedAtOnce))) === removedAtOnce
    );
  }

  private claimOf(request: Request, key: string): Claim {
    const { issuer = '', id } = userOf(request);
    const [path = '', query = ''] = request.url.split('?', 2);
    const scope = digest([issuer, id, request.method, path, key]);
    return { scope, fingerprint: digest([query, request.body]), claim: randomUUID(), instanceId: this.instance.id };
  }

  /** Fails with the answer where there is one, and else unless it is for this call to act. */
  private async take(claim: Claim, response: Response): Promise<void> {
    const { pool } = this.db;
    // Another one may have ended, or gone, between two looks.
    for (let left = 3; left > 0; left--) {
      if (await this.store.begin(pool, claim)) return;
      const kept = await this.find(claim.scope);
      if (!kept) continue;
      this.refuseUnlessAbandoned(kept, claim, response);
      if (await this.store.takeOver(pool, kept, claim)) return;
    }
    throw tryAgain(response);
  }

  private async find(scope: string): Promise<KeptCall | undefined> {
    const found = await this.store.find(this.db.pool, scope);
    if (!found || found.status !== null || this.isRunning(found)) return found;
    // It is not running any more, but may have been answered since it was looked at.
    return this.store.find(this.db.pool, scope);
  }

  private isRunning({ instanceId, claim, maybeRunning }: KeptCall): boolean {
    return instanceId === this.instance.id ? this.running.has(claim) : maybeRunning;
  }

  private refuseUnlessAbandoned(kept: KeptCall, claim: Claim, response: Response): void {
    if (kept.fingerprint !== claim.fingerprint) {
      const message = `${header} was used for another call: its query or body was another one`;
      throw new SchedulerError('IDEMPOTENCY_KEY_REUSED', message);
    }
    if (kept.status !== null && (kept.body !== null || kept.contentType === null))
      throw new KeptAnswer({ ...kept, status: kept.status });
    if (kept.status === null && this.isRunning(kept)) throw tryAgain(response);
    if (kept.acted || kept.status !== null) throw answerIsLost();
  }

  /** The answer leaves when it is kept: a caller who has seen it gets the same again. */
  private keepAnswer(response: Response, claim: Claim): void {
    const chunks: Buffer[] = [];
    let length = 0;
    const note = (chunk: unknown, encoding: unknown): void => {
      if (typeof chunk !== 'string' && !Buffer.isBuffer(chunk)) return;
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding | undefined) : chunk;
      length += bytes.length;
      if (length <= longestBody) chunks.push(bytes);
    };
    type Send = (...given: unknown[]) => unknown;
    const write = response.write.bind(response) as Send;
    const end = response.end.bind(response) as Send;
    const written: Send = (...given) => {
      note(given[0], given[1]);
      return write(...given);
    };
    const ended: Send = (...given) => {
      note(given[0], given[1]);
      const body = length > longestBody ? null : Buffer.concat(chunks).toString();
      void this.finish(response, claim, length === 0 ? undefined : body).finally(() => end(...given));
      return response;
    };
    // Handlers, the error filter and streams of files write answers, and Node.js has no event before the last byte.
    Object.assign(response, { write: written, end: ended });
    // An answer that breaks off half-way has no end.
    response.once('close', () => response.headersSent && this.running.delete(claim.claim));
  }

  /** `body`: undefined where there is none, null where it is too large. */
  private async finish(response: Response, claim: Claim, body: string | null | undefined): Promise<void> {
    const { pool } = this.db;
    const { statusCode: status } = response;
    const contentType = body === undefined ? null : String(response.getHeader('Content-Type') ?? 'application/json');
    try {
      if (isPassing(status)) await this.store.release(pool, claim);
      else await this.store.keepAnswer(pool, claim, { status, contentType, body: body ?? null });
    } catch (cause) {
      this.log.warn(`The answer of a call with ${header} is not kept: ${String(cause)}`);
    } finally {
      this.running.delete(claim.claim);
    }
  }
}

const isBeingDone = (): SchedulerError =>
  new SchedulerError('IDEMPOTENT_CALL_RUNNING', `A call with this ${header} is being done; ask again for its answer`);

function tryAgain(response: Response): SchedulerError {
  response.set('Retry-After', '1');
  return isBeingDone();
}

const answerIsLost = (): SchedulerError =>
  new SchedulerError(
    'IDEMPOTENT_CALL_DONE',
    `The first call with this ${header} was carried out, and its answer was lost: look at what it has done before you call again with another key`,
  );

const digest = (parts: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts, sorted)).digest('base64url');

/** Members in one order, whatever the order in which they were sent. */
const sorted = (_name: string, value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;
