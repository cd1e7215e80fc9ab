import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';
import type { Settings } from '../settings/settings.js';
import { callerAddress } from './addresses-of-call.js';
import { CallerTurns, type Turn } from './caller-turns.js';
import { errorBody } from './error.filter.js';
import { sendJson } from './json.js';
import { requestIdOf } from './middleware.js';

type Limits = Settings['http'];

/** A body counts as slow below this, once its first time is over. One of ten MB has about three minutes. */
const leastBytesPerSecond = 65_536;
/** Patience with a body beyond the limit of its address: one that comes with its headers is there by then. */
const shortPatienceMillis = 500;
/** Bodies from this length on share the room for large ones: what has come of them stands in memory. API workers share it evenly. */
const largeFromBytes = 1_048_576;
const mostLargeBytes = 268_435_456;

/**
 * Waits for bodies: a call takes no place (below) before its body is there. A sender has so long, and longer only while bytes
 * keep coming. Of one address, so many may be waited for; further ones have to be there at once, because behind the address
 * of a proxy there are other callers, too.
 */
export function awaitBodies(limits: Limits, maxBytes: number, numericCode: boolean): RequestHandler {
  const unfinished = new Map<string, number>();
  const roomForLarge = Math.max(mostLargeBytes / Math.max(1, limits.workers ?? 0), maxBytes);
  let largeBytes = 0;
  return (request: Request, response: Response, next: NextFunction) => {
    const length = lengthOf(request);
    if (length === 0) return next();
    let large = 0;
    /** False: there is no room, and the caller has been told. */
    const takeRoom = (bytes: number): boolean => {
      if (largeBytes + bytes > roomForLarge) {
        const cause = new SchedulerError('UNAVAILABLE', 'Too many large bodies are on their way; try again');
        hangUp(request, response, cause, numericCode);
        return false;
      }
      large = bytes;
      largeBytes += bytes;
      return true;
    };
    const atMost = length === 'CHUNKS' ? 0 : Math.min(maxBytes, inflatedAtMost(length, request));
    if (atMost >= largeFromBytes && !takeRoom(atMost)) return;
    const address = callerAddress(request);
    const present = (unfinished.get(address) ?? 0) + 1;
    unfinished.set(address, present);
    const isOneTooMany = present > limits.maxUnfinishedBodiesPerAddress;
    const patience = isOneTooMany ? shortPatienceMillis : limits.bodyTimeoutMillis;
    const stop = watch(request, patience, () => {
      const code = isOneTooMany ? 'TOO_MANY_BODIES' : 'CALL_TIMEOUT';
      const message = isOneTooMany
        ? `${limits.maxUnfinishedBodiesPerAddress} bodies from this address are waited for, which is the limit`
        : `The body was not sent in time: ${patience} ms, and from then on at ${leastBytesPerSecond} bytes a second`;
      hangUp(request, response, new SchedulerError(code, message), numericCode);
    });
    let isOver = false;
    const done = () => {
      if (isOver) return;
      isOver = true;
      stop();
      const left = unfinished.get(address)! - 1;
      if (left > 0) unfinished.set(address, left);
      else unfinished.delete(address);
    };
    request.once('end', done);
    request.once('close', done);
    // What came stands in memory until the call is answered.
    response.once('close', () => {
      done();
      largeBytes -= large;
    });
    if (length === 'CHUNKS') {
      let came = 0;
      // How long it becomes is known when it is: as long as is allowed, once it is large.
      request.on('data', (chunk: Buffer) => {
        came += chunk.length;
        if (large === 0 && inflatedAtMost(came, request) >= largeFromBytes && !isOver) takeRoom(maxBytes);
      });
    }
    next();
  };
}

/** DEFLATE makes of one byte no more than so many; of the bytes of other encodings there is no such limit. */
const mostInflation = 1_032;

/** Bytes that a body becomes in memory, at most. */
function inflatedAtMost(bytes: number, { headers }: Request): number {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return bytes;
  return encoding === 'gzip' || encoding === 'deflate' ? bytes * mostInflation : Infinity;
}

/** Calls `tooSlow` when the time is over that the bytes that came so far are worth. */
function watch(request: Request, patience: number, tooSlow: () => void): () => void {
  const { socket } = request;
  const before = socket.bytesRead;
  const begun = performance.now();
  const look = () => {
    const worth = patience + ((socket.bytesRead - before) / leastBytesPerSecond) * 1_000;
    const left = worth - (performance.now() - begun);
    if (left <= 0) tooSlow();
    else timer = setTimeout(look, left);
  };
  let timer = setTimeout(look, patience);
  return () => clearTimeout(timer);
}

/** Length of a body. A header that is not a number is refused elsewhere. */
function lengthOf({ headers }: Request): number | 'CHUNKS' {
  if (headers['transfer-encoding'] !== undefined) return 'CHUNKS';
  return Number(headers['content-length'] ?? 0) || 0;
}

/** A parser may still wait, so the answer goes past it; then the connection ends, since the rest would be taken for a call. */
function hangUp(request: Request, response: Response, cause: SchedulerError, numericCode: boolean): void {
  if (response.headersSent) return;
  const { status, code, message, errors } = cause;
  response.once('finish', () => request.destroy());
  response.set({ Connection: 'close', 'Retry-After': '1' }).status(status);
  sendJson(response, errorBody({ status, code, message, errors }, requestIdOf(request), numericCode));
}

/** The caller, as far as admission needs it. undefined: the caller will not be known. */
interface KnownCaller {
  id: string;
  isAdmin: boolean;
  /** It is not parsed yet, which may take long. */
  hasLongBody?: boolean;
}

/** The place of a call, kept with its answer: a map from calls to places would keep the garbage collector busy. */
interface Place {
  /** undefined: it is the turn of this call. */
  take(caller: KnownCaller): Promise<void> | undefined;
  endTurn(): void;
  leave(): void;
}
const placeOf = ({ res }: Request): Place | undefined => res?.locals['place'] as Place | undefined;

/**
 * Frees the place of a call whose answer goes on without end: it takes no place of calls that are answered. Others
 * bound how many there are.
 */
export const goesOnWithoutEnd = (request: Request): void => placeOf(request)?.leave();

/**
 * Ends the turn of a call whose answer is sent as it comes from elsewhere, at the pace of who reads it: the next one of
 * its caller begins.
 */
export const isOnlySent = (request: Request): void => placeOf(request)?.endTurn();

/**
 * Gives back the place of a call of an unknown caller for one of its own, as soon as the caller is known. Resolves when
 * it is its turn among the calls of this caller; undefined: at once.
 */
export const callerIsKnown = (request: Request, caller: KnownCaller): Promise<void> | undefined =>
  placeOf(request)?.take(caller);

/**
 * Lets so many calls in at a time: beyond that a call is refused before anything of it is done, instead of waiting until its
 * caller gives up. Calls are counted twice, first until it is known who calls, then until they are answered: so those of
 * unknown callers keep no known ones out. Some places are kept for administrators, and one caller gets no more than half, of
 * which a few are worked on at a time. What watches the instance, outside /api, always gets its answer.
 */
export function admitCalls(limits: Limits): RequestHandler {
  const { maxConcurrentCalls, placesForAdministrators } = limits;
  const turns = new CallerTurns(limits.maxCallsInWorkPerCaller);
  // To parse one may take half a second, in which nothing else happens: of one caller, one after the other.
  const longTurns = new CallerTurns(1);
  let unknown = 0;
  let known = 0;
  const byCaller = new Map<string, number>();
  const mostOfOne = Math.max(1, Math.ceil(maxConcurrentCalls / 2));

  const enter = ({ id, isAdmin }: KnownCaller): (() => void) => {
    const own = byCaller.get(id) ?? 0;
    if (isAdmin ? known >= maxConcurrentCalls + placesForAdministrators : known >= maxConcurrentCalls)
      throw full(known);
    if (!isAdmin && own >= mostOfOne) throw full(own, ' of yours');
    known++;
    byCaller.set(id, own + 1);
    return () => {
      known--;
      const left = byCaller.get(id)! - 1;
      if (left > 0) byCaller.set(id, left);
      else byCaller.delete(id);
    };
  };

  return (request: Request, response: Response, next: NextFunction) => {
    if (!request.path.startsWith('/api/')) return next();
    if (unknown >= maxConcurrentCalls) return next(full(unknown));
    unknown++;
    let giveBack: () => void = () => unknown--;
    let isKnown = false;
    let hasLeft = false;
    const own: Turn[] = [];
    let begun: Promise<void> | undefined;
    const waitIn = (line: CallerTurns, { id }: KnownCaller) => {
      const turn = line.take(id);
      if (hasLeft) turn.end();
      else own.push(turn);
      return turn.begun;
    };
    const waitInBoth = (caller: KnownCaller) => {
      const first = waitIn(longTurns, caller);
      return first ? first.then(() => waitIn(turns, caller)) : waitIn(turns, caller);
    };
    const take = (caller: KnownCaller) => {
      if (isKnown) return begun;
      isKnown = true;
      if (hasLeft) return undefined;
      const giveBackOwn = enter(caller);
      giveBack();
      giveBack = giveBackOwn;
      longTurns.seen(caller.id);
      if (caller.isAdmin) turns.seen(caller.id);
      // First the rarer turn: who waits for it keeps no other one.
      else if (caller.hasLongBody) begun = waitInBoth(caller);
      else begun = waitIn(turns, caller);
      return begun;
    };
    const endTurn = () => own.splice(0).forEach((turn) => turn.end());
    const leave = () => {
      if (!hasLeft) giveBack();
      hasLeft = true;
      endTurn();
    };
    response.locals['place'] = { take, endTurn, leave } satisfies Place;
    // All of the answer is made, and waits for who reads it.
    response.once('prefinish', endTurn);
    response.once('close', leave);
    next();
  };
}

const full = (present: number, whose = ''): SchedulerError =>
  new SchedulerError('UNAVAILABLE', `${present} calls${whose} are being answered, which is the limit; try again`);
