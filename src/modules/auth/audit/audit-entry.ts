import type { Request, Response } from 'express';
import { storableText } from '../../../core/storable-text.js';
import { callerAddress } from '../../../platform/http/addresses-of-call.js';
import { refusalOf } from '../../../platform/http/error.filter.js';
import { requestIdOf } from '../../../platform/http/middleware.js';
import type { CheckedRequest } from '../access/access.guard.js';
import type { CallArguments, NamedRequest } from '../access/call.js';
import type { Need } from '../access/needs.js';
import type { AuditEntry } from './audit.repository.js';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
const refusals = new Set([401, 403, 421]);
/** Codes of refusals in which the caller is not known. */
const unproven = new Set<string>(['UNAUTHENTICATED', 'TOO_MANY_FAILURES']);

/** Reads that show what tasks wrote, or who has tokens. */
const notedReads = new Set([
  '/api/auth/tokens',
  '/api/sandbox/:taskId/browse',
  '/api/sandbox/:taskId/read',
  '/api/tasks/download',
  '/api/tasks/open',
]);
/** A browser is sent here to be signed in. Its query is a proof, and is not noted. */
const signsIn = '/api/auth/oidc/callback';
const longestPath = 1_000;
const longestText = 500;

export interface AuditNote {
  entry: AuditEntry;
  /** Entries with the same key, shortly after each other, are one; absent: each counts. */
  sameAs?: { key: string; withinMillis: number };
}

/** The entry for a call that has ended; undefined: none is kept. */
export function entryOf(request: Request, response: Response): AuditNote | undefined {
  const { method } = request;
  const { caller, provenBy, need } = request as CheckedRequest;
  const route = (request.route as { path: string } | undefined)?.path;
  const status = response.headersSent ? response.statusCode : null;
  const refusal = refusalOf(response);
  const isRefused = refusals.has(status ?? 0) || refusal?.code === 'TOO_MANY_FAILURES';
  const isRead = safeMethods.has(method);
  // What no operation took, or was not let in before it was asked who calls, has done nothing.
  const isChange = (!isRead || route === signsIn) && route !== undefined && need !== undefined;
  const isNotedRead = isRead && route !== undefined && notedReads.has(route);
  if (!isRefused && !isChange && !isNotedRead) return undefined;
  const isKnown = caller !== undefined && !(provenBy === undefined && unproven.has(refusal?.code ?? ''));
  const operation = `${method} ${route ?? request.path.slice(0, longestText)}`;
  const address = callerAddress(request);
  const path = isNotedRead ? request.url : request.path;
  const entry: AuditEntry = {
    callId: requestIdOf(request),
    callerId: isKnown ? text(caller?.id) : null,
    callerIssuer: isKnown ? text(caller?.issuer) : null,
    provenBy: provenBy ?? null,
    address,
    operation: storableText(operation),
    path: storableText(path, longestPath),
    requestId: text(requestIn(request as CheckedRequest)),
    outcome: isRefused ? 'REFUSED' : 'ALLOWED',
    status,
    reason: isRefused ? text(refusal?.message) : null,
  };
  if (isRefused && !isKnown)
    return { entry, sameAs: { key: `${address} ${operation} ${status}`, withinMillis: 10_000 } };
  if (isNotedRead && !isRefused) {
    // A page that shows a growing file reads it every second.
    const what = `${request.path} ${String(request.query['path'])}`.slice(0, longestPath);
    return { entry, sameAs: { key: `${entry.callerId} ${address} ${what} ${status}`, withinMillis: 60_000 } };
  }
  return { entry };
}

const text = (value: string | undefined): string | null =>
  value === undefined ? null : storableText(value, longestText);

/** The request that the call is about: what its need says, else what its path names. */
function requestIn(request: CheckedRequest): string | undefined {
  const call: CallArguments = { params: request.params ?? {}, query: request.query, body: request.body as unknown };
  const [first] = request.need ? requestsOf(request.need, call) : [];
  const named: unknown = first?.id ?? call.params['requestId'];
  return typeof named === 'string' ? named : undefined;
}

function requestsOf(need: Need, call: CallArguments): readonly NamedRequest[] {
  switch (need.kind) {
    case 'request':
      return need.requests(call);
    case 'depends':
      return requestsOf(need.on(call), call);
    case 'openable':
      return requestsOf(need.otherwise, call);
    default:
      return [];
  }
}
