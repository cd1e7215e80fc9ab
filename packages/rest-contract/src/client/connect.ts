import type { AsyncWrapper, WrapperOf, WrapperName } from '../async/wrappers.js';
import type { AnyContract } from '../contract/types.js';
import type { UsableBy } from '../contract/check-codecs.js';
import type { HandleRequest, RestRequest } from '../raw/message.js';
import { performCall, type SharedOptions } from './perform.js';
import { emptyDraft, planOf, type Draft, type Plan, type PlannedMember } from './plan.js';
import type { CallOptions, Client, ContextFor } from './types.js';

export interface ConnectOptions<W extends WrapperName = 'promise', Context = unknown> {
  /** The container calls answer with; Promise unless given. */
  readonly wrapper?: AsyncWrapper<W>;
  /** Arguments by name that callers may leave out; a function is asked at every call. */
  readonly context?: Context;
  /** For every call that names no time of its own. */
  readonly timeoutMs?: number;
  /** The longest answer that is read whole; streams have no limit. */
  readonly maxResponseBytes?: number;
}

const MAX_RESPONSE_BYTES = 67_108_864;

/** A typed client over anything that answers requests: `fetchBackend(url)`, or a server in the same process. */
export function connect<C extends AnyContract, W extends WrapperName = 'promise', Context = unknown>(
  contract: C & UsableBy<C, 'client'>,
  backend: HandleRequest,
  options: ConnectOptions<W, Context> & { readonly context?: Context & ContextFor<C, Context> } = {},
): Client<C, W, Context> {
  const shared: SharedOptions = {
    backend,
    wrapper: options.wrapper as SharedOptions['wrapper'],
    context: (options.context ?? {}) as Record<string, unknown>,
    timeoutMs: options.timeoutMs ?? 0,
    read: { maxBytes: options.maxResponseBytes ?? MAX_RESPONSE_BYTES },
  };
  return clientOf(planOf(contract), shared, emptyDraft) as Client<C, W, Context>;
}

type Arguments = Record<string, unknown>;
const noArguments: Arguments = {};

/** Plain objects, not proxies: a proxy would answer to `then` and break `await`. */
function clientOf(plan: Plan, shared: SharedOptions, before: Draft): Record<string, unknown> {
  const client: Record<string, unknown> = {};
  for (const member of plan.members) client[member.name] = functionOf(member, shared, before);
  return client;
}

function functionOf(member: PlannedMember, shared: SharedOptions, before: Draft) {
  if (member.kind === 'prefix') {
    return (args: Arguments = noArguments) =>
      clientOf(member.target(), shared, member.extend(before, args, shared.context));
  }
  const { wrapper } = shared;
  const call = async (args: Arguments, options: CallOptions | undefined, cancel?: AbortSignal): Promise<unknown> => {
    const request: RestRequest = member.request(before, args, shared.context);
    return performCall(request, member.result, shared, options, cancel);
  };
  if (!wrapper) return (args: Arguments = noArguments, options?: CallOptions) => call(args, options);
  return (args: Arguments = noArguments, options?: CallOptions): WrapperOf<unknown, WrapperName> =>
    wrapper.fromCall((cancel) => call(args, options, cancel));
}
