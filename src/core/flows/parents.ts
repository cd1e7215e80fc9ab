import { groupBy } from '../group-by.js';
import { type FieldError, fieldError } from '../field-error.js';
import { isLongRunning, type RequestType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { mostFollowers, mostParents } from './limits.js';

/** A request that is followed, or is to be. */
export interface ParentFacts {
  requestType: RequestType;
  /** Requests that follow it by now, without the one in question. */
  followers: number;
}

/** `child` runs after `parent`. */
export interface FlowEdge {
  child: string;
  parent: string;
}

/** Problems of `after` and what belongs to it that show without any other request. */
export function followProblems({ id, requestType, after, afterMode, argsFrom }: Request): FieldError[] {
  if (after === undefined) {
    const lonely = Object.entries({ afterMode, argsFrom }).filter(([, value]) => value !== undefined);
    return lonely.map(([field]) =>
      fieldError(field, 'consistent', `${field} needs after: it is about runs that follow others`),
    );
  }
  const errors: FieldError[] = [];
  if (requestType !== undefined && requestType !== 'ON_DEMAND') {
    const message = `after is for ON_DEMAND requests: a ${requestType} request has its own reason to run`;
    errors.push(fieldError('after', 'notAllowed', message));
  }
  if (after.length === 0)
    errors.push(fieldError('after', 'min', 'after must name at least one request, or be left out'));
  if (after.length > mostParents) {
    errors.push(fieldError('after', 'max', `after may name at most ${mostParents} requests, not ${after.length}`));
  }
  const seen = new Set<string>();
  for (const [index, { requestId }] of after.entries()) {
    const field = `after.${index}.requestId`;
    if (requestId === id) errors.push(fieldError(field, 'cycle', `${field}: '${id}' cannot follow itself`));
    if (seen.has(requestId)) errors.push(fieldError(field, 'unique', `${field}: '${requestId}' is named twice`));
    seen.add(requestId);
  }
  if (argsFrom === 'PARENT' && afterMode !== 'ANY' && after.length > 1) {
    const message = 'argsFrom PARENT needs one parent, or afterMode ANY: with ALL each run has several parents';
    errors.push(fieldError('argsFrom', 'consistent', message));
  }
  return errors;
}

/**
 * Problems of `after` beside other requests. `known`: the requests that are there, by id; `former`: ids that the stored request names,
 * which may be gone by now; `edges`: all that the parents follow, directly or not; `readable`: the caller may know of it.
 */
export function parentProblems(
  { id, after = [] }: Request,
  known: ReadonlyMap<string, ParentFacts>,
  former: ReadonlySet<string>,
  edges: readonly FlowEdge[],
  readable: (requestId: string) => boolean = () => true,
): FieldError[] {
  return after.flatMap(({ requestId }, index) => {
    const field = `after.${index}.requestId`;
    const parent = known.get(requestId);
    if (!parent) {
      return former.has(requestId) ? [] : [fieldError(field, 'exists', `${field}: there is no request '${requestId}'`)];
    }
    if (isLongRunning(parent.requestType)) {
      const message = `${field}: '${requestId}' is a ${parent.requestType}, which has no runs that end`;
      return [fieldError(field, 'runs', message)];
    }
    if (parent.followers >= mostFollowers && !former.has(requestId)) {
      const message = `${field}: '${requestId}' has ${parent.followers} followers, and may have ${mostFollowers}`;
      return [fieldError(field, 'max', message)];
    }
    const path = pathUp(requestId, id, edges);
    if (!path) return [];
    const cycle = [...path.toReversed(), id].map((name) => (readable(name) ? `'${name}'` : '(another)')).join(' -> ');
    return [fieldError(field, 'cycle', `${field}: ${cycle} would run for ever`)];
  });
}

/** The shortest way from a request to one that it follows, both included; undefined: there is none. */
export function pathUp(from: string, to: string, edges: readonly FlowEdge[]): string[] | undefined {
  const above = groupBy(edges, ({ child }) => child);
  const cameFrom = new Map<string, string | undefined>([[from, undefined]]);
  for (const id of cameFrom.keys()) {
    if (id === to) return wayTo(id, cameFrom);
    for (const { parent } of above.get(id) ?? []) if (!cameFrom.has(parent)) cameFrom.set(parent, id);
  }
  return undefined;
}

function wayTo(end: string, cameFrom: ReadonlyMap<string, string | undefined>): string[] {
  const way: string[] = [];
  for (let at: string | undefined = end; at !== undefined; at = cameFrom.get(at)) way.unshift(at);
  return way;
}

/** A request, and all that follow it, directly or not. */
export function withFollowers(id: string, edges: readonly FlowEdge[]): string[] {
  const found = new Set([id]);
  for (const each of found) for (const { child, parent } of edges) if (parent === each) found.add(child);
  return [...found];
}
