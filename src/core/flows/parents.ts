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

/** A request that another one names. */
interface NamedParent {
  requestId: string;
  field: string;
}

/** Requests that it names, in whichever way: as parents of its runs, or as those that start before it. */
export const namedParents = ({ after = [], startAfter = [] }: Pick<Request, 'after' | 'startAfter'>): NamedParent[] => [
  ...after.map(({ requestId }, index) => ({ requestId, field: `after.${index}.requestId` })),
  ...startAfter.map((requestId, index) => ({ requestId, field: `startAfter.${index}` })),
];

/** Problems of `after` and what belongs to it, and of `startAfter`, that show without any other request. */
export function followProblems(request: Request): FieldError[] {
  const { requestType, after, afterMode, argsFrom, startAfter } = request;
  const errors: FieldError[] = [];
  if (after === undefined) {
    const lonely = Object.entries({ afterMode, argsFrom }).filter(([, value]) => value !== undefined);
    errors.push(
      ...lonely.map(([field]) =>
        fieldError(field, 'consistent', `${field} needs after: it is about runs that follow others`),
      ),
    );
  }
  if (after !== undefined && requestType !== undefined && requestType !== 'ON_DEMAND') {
    const message = `after is for ON_DEMAND requests: a ${requestType} request has its own reason to run`;
    errors.push(fieldError('after', 'notAllowed', message));
  }
  if (startAfter !== undefined && requestType !== undefined && !isLongRunning(requestType)) {
    const message = `startAfter is for SERVICE and WORKER requests: runs of a ${requestType} request may follow others by after`;
    errors.push(fieldError('startAfter', 'notAllowed', message));
  }
  errors.push(...listProblems('after', after), ...listProblems('startAfter', startAfter), ...namingProblems(request));
  if (after && argsFrom === 'PARENT' && afterMode !== 'ANY' && after.length > 1) {
    const message = 'argsFrom PARENT needs one parent, or afterMode ANY: with ALL each run has several parents';
    errors.push(fieldError('argsFrom', 'consistent', message));
  }
  return errors;
}

function listProblems(field: string, list: readonly unknown[] | undefined): FieldError[] {
  if (list === undefined || (list.length > 0 && list.length <= mostParents)) return [];
  return list.length === 0
    ? [fieldError(field, 'min', `${field} must name at least one request, or be left out`)]
    : [fieldError(field, 'max', `${field} may name at most ${mostParents} requests, not ${list.length}`)];
}

function namingProblems(request: Request): FieldError[] {
  const seen = new Set<string>();
  return namedParents(request).flatMap(({ requestId, field }) => {
    const isTwice = seen.has(requestId);
    seen.add(requestId);
    return [
      ...(requestId === request.id
        ? [fieldError(field, 'cycle', `${field}: '${request.id}' cannot follow itself`)]
        : []),
      ...(isTwice ? [fieldError(field, 'unique', `${field}: '${requestId}' is named twice`)] : []),
    ];
  });
}

/**
 * Problems of the requests that it names beside other requests. `known`: the requests that are there, by id; `former`: ids that the
 * stored request names, which may be gone by now; `edges`: all that these name, directly or not; `readable`: the caller may know of it.
 */
export function parentProblems(
  request: Request,
  known: ReadonlyMap<string, ParentFacts>,
  former: ReadonlySet<string>,
  edges: readonly FlowEdge[],
  readable: (requestId: string) => boolean = () => true,
): FieldError[] {
  const { id } = request;
  const isOrdered = isLongRunning(request.requestType);
  const problems = namedParents(request).flatMap(({ requestId, field }): FieldError[] => {
    const parent = known.get(requestId);
    if (!parent) {
      return former.has(requestId) ? [] : [fieldError(field, 'exists', `${field}: there is no request '${requestId}'`)];
    }
    if (isLongRunning(parent.requestType) !== isOrdered) {
      const because = isOrdered ? 'no tasks that stay' : 'no runs that end';
      return [fieldError(field, 'runs', `${field}: '${requestId}' is a ${parent.requestType}, which has ${because}`)];
    }
    if (parent.followers >= mostFollowers && !former.has(requestId)) {
      const message = `${field}: '${requestId}' has ${parent.followers} followers, and may have ${mostFollowers}`;
      return [fieldError(field, 'max', message)];
    }
    const path = pathUp(requestId, id, edges);
    if (!path) return [];
    const cycle = [...path.toReversed(), id].map((name) => (readable(name) ? `'${name}'` : '(another)')).join(' -> ');
    const never = isOrdered ? 'would never start' : 'would run for ever';
    return [fieldError(field, 'cycle', `${field}: ${cycle} ${never}`)];
  });
  if (problems.length > 0 || haveCommonFlow(request, known, edges)) return problems;
  const message = `after: no flow has a run of each of these: no request leads to them all. Let them follow one, or give afterMode ANY`;
  return [fieldError('after', 'commonFlow', message)];
}

/** Why no run of this request comes whatever its parents do; undefined: some may. */
export function neverFollows(
  request: Request,
  known: ReadonlyMap<string, Pick<ParentFacts, 'requestType'>>,
  edges: readonly FlowEdge[],
): string | undefined {
  const { after, afterMode } = request;
  if (after === undefined) return undefined;
  for (const { requestId } of after) {
    const type = known.get(requestId)?.requestType;
    if (type !== undefined && isLongRunning(type) && (after.length === 1 || afterMode !== 'ANY'))
      return `It follows '${requestId}', which is a ${type} now and has no runs: no run of it comes`;
  }
  const gone = after.map(({ requestId }) => requestId).filter((id) => !known.has(id));
  if (gone.length === after.length || (gone.length > 0 && afterMode !== 'ANY')) {
    return `It follows ${gone.map((id) => `'${id}'`).join(', ')}, which ${gone.length === 1 ? 'was' : 'were'} removed: no run of it comes`;
  }
  if (haveCommonFlow(request, known, edges)) return undefined;
  return 'No request leads to all of its parents, so no flow has a run of each: no run of it comes';
}

/** With ALL, a run needs an end of each parent in one flow: a request leads to all of them. Parents that are gone are not judged. */
function haveCommonFlow(
  { after = [], afterMode }: Request,
  known: ReadonlyMap<string, unknown>,
  edges: readonly FlowEdge[],
): boolean {
  const ids = after.map(({ requestId }) => requestId);
  if (ids.length < 2 || afterMode === 'ANY' || ids.some((id) => !known.has(id))) return true;
  const [first, ...others] = ids.map((id) => new Set(withParents(id, edges)));
  return [...first!].some((id) => others.every((leading) => leading.has(id)));
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

/** A request, and all that it follows, directly or not. */
const withParents = (id: string, edges: readonly FlowEdge[]): string[] =>
  withFollowers(
    id,
    edges.map(({ child, parent }) => ({ child: parent, parent: child })),
  );
