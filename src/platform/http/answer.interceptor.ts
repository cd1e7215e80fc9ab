import { hash } from 'node:crypto';
import { type ExecutionContext, StreamableFile } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ListPage } from '../database/keyset.js';
import { SchedulerError } from '../errors.js';
import { Around, type Steps } from './around.js';
import { jsonType, toJson, writtenOf } from './json.js';
import { inOurNames, type Leniency, withLegacyNames } from './legacy-names.js';
import { asPage } from './pages.js';

/** Brings what a handler under /api returns into the form that leaves: JSON whatever its type, filtered, in the names asked for. */
export class AnswerInterceptor extends Around {
  constructor(private readonly leniency: Leniency) {
    super();
  }

  begin(context: ExecutionContext): Steps | undefined {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (!request.path.startsWith('/api/')) return undefined;
    // Before anything is done. A handler with a type of its own (a download) sends it whatever was asked for.
    if (!takesJson(request) && response.getHeader('Content-Type') === undefined) {
      throw new SchedulerError('NOT_ACCEPTABLE', `Answers are application/json, not '${request.get('accept')}'`);
    }
    return { after: (value) => this.shape(value, request, response) };
  }

  private shape(value: unknown, request: Request, response: Response): unknown {
    if (value === undefined || value === null || value instanceof StreamableFile) return value;
    // A handler that names another type sends something else than JSON.
    if (typeof value !== 'object' && response.getHeader('Content-Type') !== undefined) return value;
    const selected = typeof value === 'object' ? this.select(value, request, response) : value;
    const body = toJson(selected);
    response.setHeader('Content-Type', jsonType);
    tagAnswer(request, response, selected, body);
    return asLargeAnswer(selected, body);
  }

  private select(value: object, request: Request, response: Response): unknown {
    const { property } = request.query;
    const isList = (Array.isArray(value) || value instanceof ListPage) && request.method !== 'POST';
    const page = isList ? asPage(value, request, response) : value;
    const filtered = isList && property !== undefined ? filterProperties(page, this.paths(property)) : page;
    return this.leniency.emitsNames ? withLegacyNames(filtered) : filtered;
  }

  private paths(property: unknown): string[] {
    const paths = [property].flat().map(String);
    return this.leniency.acceptsNames ? paths.map(inOurNames) : paths;
  }
}

/** By itself a range with a character set matches only a type that has it, too. */
const json = [jsonType, `${jsonType}; charset=utf-8`];

/** An empty Accept asks for nothing in particular, as a missing one does. */
function takesJson(request: Request): boolean {
  const accept = request.headers.accept?.trim();
  return !accept || accept === '*/*' || accept === json[0] || request.accepts(json) !== false;
}

/**
 * Length from which on the bytes of a text are kept. For shorter ones it costs less to make them again for each call
 * than to write them apart from the head.
 */
const largeFromCharacters = 8_192;

/** A long answer is made into bytes once for all who share it; others are handed over as text. */
function asLargeAnswer(value: unknown, json: string): string | Buffer {
  const kept = writtenOf(value);
  return json.length < largeFromCharacters || !kept ? json : (kept.bytes ??= Buffer.from(json));
}

/** Larger answers cost more to sum up than it saves to leave some of them out. */
const mostTaggedCharacters = 1_048_576;
/** Clients read an ETag of this resource as a whole number, and do without one. */
const isUntagged = /^\/api\/requests\/request\/[^/]+\/?$/;

/** Names the state of what is read, so that a caller that has it already is told 304 instead. */
function tagAnswer(request: Request, response: Response, value: unknown, body: string): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') return;
  if (body.length > mostTaggedCharacters || isUntagged.test(request.path) || response.getHeader('ETag') !== undefined)
    return;
  const kept = writtenOf(value);
  const tag = kept?.tag ?? `W/"${hash('sha1', body, 'base64url')}"`;
  if (kept) kept.tag = tag;
  response.setHeader('ETag', tag);
}

/**
 * The `property` parameter of list reads: dotted paths of members to keep, with a leading '!' to drop, '*' for any name.
 * A path that only drops keeps everything else.
 */
function filterProperties(value: unknown, properties: readonly string[]): unknown {
  const dropped = properties.filter((path) => path.startsWith('!')).map((path) => path.slice(1).split('.'));
  const kept = properties.filter((path) => !path.startsWith('!')).map((path) => path.split('.'));
  return select(value, kept.length > 0 ? kept : [[]], dropped);
}

type Paths = readonly (readonly string[])[];

/** An empty path in `kept` says: all from here on. */
function select(value: unknown, kept: Paths, dropped: Paths): unknown {
  if (Array.isArray(value)) return value.map((member) => select(member, kept, dropped));
  if (value === null || typeof value !== 'object') return value;
  const all = kept.some((path) => path.length === 0);
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const inner = all ? [[]] : below(kept, name);
    const gone = below(dropped, name);
    if (inner.length === 0 || gone.some((path) => path.length === 0)) continue;
    result[name] = select(member, inner, gone);
  }
  return result;
}

const below = (paths: Paths, name: string): Paths =>
  paths.filter(([head]) => head === name || head === '*').map((path) => path.slice(1));
