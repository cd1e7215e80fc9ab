import type { WrapperName } from '../async/wrappers.js';
import type { UsableBy } from '../contract/check-codecs.js';
import type { AnyContract } from '../contract/types.js';
import { ContractDefinitionError } from '../contract/errors.js';
import { discard, emptyBody, mediaTypeOf } from '../raw/body.js';
import { HttpErrorException } from '../raw/http-error.js';
import { JSON_TYPE } from '../raw/media-type.js';
import {
  type Entry,
  type HandleRequest,
  isHeaderName,
  isHeaderValue,
  noEntries,
  type RestRequest,
  type RestResponse,
} from '../raw/message.js';
import { type CallSettings, RouteCall } from './route-call.js';
import { type Match, Router } from './router.js';
import { checkAmbiguity, routesOf } from './routes.js';
import { begun } from './streams.js';
import type { ServeOptions, Service } from './types.js';

/** Answers requests, and knows which paths are its own: adapters pass on the others. */
export interface ServedContract extends HandleRequest {
  readonly knows: (path: readonly string[]) => boolean;
}

const MAX_BODY_BYTES = 1_048_576;

/** Makes a request handler of a contract and its implementation. */
export function serve<C extends AnyContract, W extends WrapperName = 'promise'>(
  contract: C & UsableBy<C, 'server'>,
  service: NoInfer<Service<C, W>>,
  options: ServeOptions<W> = {},
): ServedContract {
  const settings: CallSettings = {
    wrapper: options.wrapper as CallSettings['wrapper'],
    maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
    checkResults: options.checkResults ?? false,
  };
  const router = new Router<RouteCall>();
  const routes = routesOf(contract);
  checkAmbiguity(routes);
  for (const route of routes) router.add(route, new RouteCall(route, settings));
  checkImplementation(contract, service);

  const onError = options.onError ?? ((error, { operation }) => console.error(`${operation} failed:`, error));
  const handle = async (request: RestRequest): Promise<RestResponse> => {
    const isHead = request.method === 'HEAD';
    const match = router.find(isHead ? 'GET' : request.method, request.path);
    if (!match) return withoutRoute(router, request, isHead);
    const report = (error: unknown) => onError(error, { operation: match.handler.route.call, request });
    const response = await answer(match, service, request, isHead, report);
    return isHead ? headOf(response) : response;
  };
  return Object.assign(handle, { knows: (path: readonly string[]) => router.methodsOf(path).length > 0 });
}

function checkImplementation(contract: AnyContract, service: unknown): void {
  const missing = contract.members.filter(
    ({ name }) => typeof (service as Record<string, unknown>)?.[name] !== 'function',
  );
  if (missing.length === 0) return;
  throw new ContractDefinitionError(
    `The implementation of '${contract.name}' has no ${missing.map(({ name }) => `'${name}'`).join(', ')}`,
  );
}

async function answer(
  { handler, values }: Match<RouteCall>,
  service: unknown,
  request: RestRequest,
  isHead: boolean,
  report: (error: unknown) => void,
): Promise<RestResponse> {
  try {
    const response = checkedResponse(await handler.answer(service, request, values, isHead));
    return response.body.kind === 'stream' && !isHead ? await begun(response, request.signal, report) : response;
  } catch (error) {
    if (error instanceof HttpErrorException && isSendable(error.toResponse())) return error.toResponse();
    // A caller who gave up is no longer there to be answered, and giving up is no fault of the server.
    if (!(request.signal?.aborted && error === request.signal.reason)) report(error);
    return internalError;
  }
}

const internalError = new HttpErrorException(500, 'Internal server error').toResponse();

function withoutRoute(router: Router<RouteCall>, request: RestRequest, isHead: boolean): RestResponse {
  const methods = router.methodsOf(request.path);
  const respond = (status: number, text: string, headers: readonly Entry[] = noEntries) => {
    const response = new HttpErrorException(status, text, { headers }).toResponse();
    return isHead ? headOf(response) : response;
  };
  if (methods.length === 0) return respond(404, 'No operation has this path');
  const allow: Entry = ['Allow', methods.join(', ')];
  if (request.method === 'OPTIONS') return { status: 204, headers: [allow], body: emptyBody };
  return respond(405, `This path can be asked with ${allow[1]}`, [allow]);
}

/** Answer to HEAD: the headers of GET, and no body. */
function headOf(response: RestResponse): RestResponse {
  const { body, headers } = response;
  const mediaType = mediaTypeOf(body);
  if (body.kind === 'empty' || mediaType === undefined) return response;
  discard(body).catch(() => undefined);
  const length =
    body.kind === 'text'
      ? new TextEncoder().encode(body.content).byteLength
      : body.kind === 'bytes'
        ? body.content.byteLength
        : body.length;
  const complete: Entry[] = [...headers, ['Content-Type', mediaType]];
  if (length !== undefined) complete.push(['Content-Length', String(length)]);
  return { status: response.status, headers: complete, body: emptyBody };
}

/** A line break in a header would start another header: refused here, whatever network follows. */
function isSendable({ status, headers, body }: RestResponse): boolean {
  const mediaType = mediaTypeOf(body);
  return (
    Number.isInteger(status) &&
    status >= 200 &&
    status <= 599 &&
    (mediaType === undefined || mediaType === JSON_TYPE || isHeaderValue(mediaType)) &&
    headers.every(([name, value]) => isHeaderName(name) && isHeaderValue(value))
  );
}

function checkedResponse(response: RestResponse): RestResponse {
  if (isSendable(response)) return response;
  throw new TypeError('The response has a status or header that HTTP does not allow');
}
