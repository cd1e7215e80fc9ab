import { type ExecutionContext, Injectable, type Type as ClassOf } from '@nestjs/common';
import type { Request, Response } from 'express';
import { didYouMean } from '../../core/did-you-mean.js';
import { otherName } from '../../core/other-names.js';
import type { FieldError } from '../../core/field-error.js';
import { SchedulerError } from '../errors.js';
import { Around, type Steps } from './around.js';
import { isMap } from './fields.js';
import { inputsOf } from './inputs.js';
import { memberNames, unknownMembers, type UnknownMember } from './known-members.js';
import { isNotGiven } from './query.js';

/** Inputs of a handler: the class of its body, and the parameters of its query. */
interface HandlerInputs {
  body?: ClassOf;
  query: ReadonlySet<string>;
}

type IgnoredMember = UnknownMember & { isQuery?: boolean };

/**
 * Parameters that every operation takes: parts of a list, who calls where a proxy says so, and what older clients send
 * with every read.
 */
const queryOfAll = ['property', 'limit', 'cursor', 'user', 'useWebCache', 'skipCache'];
/** Number of names that are reported for one call; and of characters of each. */
const mostTold = 10;
const mostCharacters = 60;

/**
 * Members of a body and parameters of a query that no handler knows. They are ignored, since newer clients send what this version
 * does not know; but a name is misspelt more often than it is new. So the answer names them in the header Warning, a refusal names
 * them beside what it refuses, and a caller that says `Prefer: handling=strict` is refused.
 */
@Injectable()
export class IgnoredMembers extends Around {
  private readonly known = new WeakMap<object, HandlerInputs>();

  begin(context: ExecutionContext): Steps | undefined {
    const request = context.switchToHttp().getRequest<Request>();
    if (!request.path.startsWith('/api/')) return undefined;
    const ignored = this.ignoredBy(context, request);
    const isStrict = /\bhandling\s*=\s*"?strict\b/i.test(request.get('prefer') ?? '');
    const response = context.switchToHttp().getResponse<Response>();
    if (isStrict) response.setHeader('Preference-Applied', 'handling=strict');
    if (ignored.length === 0) return undefined;
    const errors = ignored.map(asError);
    if (isStrict) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    response.setHeader('Warning', `299 muster "Ignored: ${errors.map(({ message }) => message).join('; ')}"`);
    return { failed: (cause) => withIgnored(cause, errors) };
  }

  private ignoredBy(context: ExecutionContext, request: Request): IgnoredMember[] {
    const handler = context.getHandler();
    let taken = this.known.get(handler);
    if (!taken) this.known.set(handler, (taken = takenBy(context)));
    const { body, query } = taken;
    const ofBody = body && isMap(request.body) ? unknownMembers(request.body, body, mostTold) : [];
    const ofQuery = Object.entries(request.query)
      .filter(([name, value]) => !query.has(name) && [value].flat().some((one) => !isNotGiven(one)))
      .map(([name]) => ({ path: '', name, known: query, isQuery: true }));
    return [...ofBody, ...ofQuery].slice(0, mostTold);
  }
}

/** Printable characters of ASCII, which alone may stand in a header; without those that end what is quoted there. */
const shown = (name: string): string => name.slice(0, mostCharacters).replaceAll(/[^\x20-\x7E]|["\\]/g, '?');

function asError({ path, name, known, inside, isQuery }: IgnoredMember): FieldError {
  const field = shown(path + name);
  const meant = inside ?? didYouMean(name, known);
  const there = isQuery ? undefined : otherName(name, meant);
  const hint = there ?? (meant === undefined ? undefined : `did you mean ${meant}?`);
  const message = `${field} is not known${hint === undefined ? '' : `: ${hint}`}`;
  return { field, rule: 'unknown', message };
}

/** Refused for another reason, of which a misspelt name may be the cause. */
function withIgnored(cause: unknown, ignored: FieldError[]): unknown {
  if (!(cause instanceof SchedulerError) || cause.status !== 400) return cause;
  const message = `${cause.message}; ${ignored.map((error) => error.message).join('; ')}`;
  return new SchedulerError(cause.code, message, {
    cause,
    errors: [...cause.errors, ...ignored],
    extra: cause.extra,
  });
}

function takenBy(context: ExecutionContext): HandlerInputs {
  const query = new Set(queryOfAll);
  let body: ClassOf | undefined;
  for (const { kind, name, type } of inputsOf(context.getClass(), context.getHandler().name)) {
    const isClass = typeof type === 'function';
    if (kind === 'body' && isClass && type !== String && type !== Object) body = type as ClassOf;
    if (kind !== 'query') continue;
    if (name !== undefined) query.add(name);
    else if (isClass) for (const member of memberNames(type as ClassOf)) query.add(member);
  }
  // A body class without a single field takes whatever is sent.
  return { body: body && memberNames(body).length > 0 ? body : undefined, query };
}
