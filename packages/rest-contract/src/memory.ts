import { connect, type ConnectOptions } from './client/connect.js';
import type { Client } from './client/types.js';
import { bodyToStream } from './codec/stream-bytes.js';
import type { UsableBy } from './contract/check-codecs.js';
import type { AnyContract } from './contract/types.js';
import { type HttpBody, mediaTypeOf, streamBody } from './raw/body.js';
import type { HandleRequest } from './raw/message.js';
import { decodeCookies, encodeCookies, parseTarget, requestTarget } from './raw/url.js';
import { serve } from './server/serve.js';
import type { ServeOptions, Service } from './server/types.js';

export interface InMemoryOptions {
  readonly serve?: ServeOptions;
  readonly connect?: ConnectOptions;
}

/** A client of an implementation in the same process: everything is serialized, nothing is sent. */
export const inMemory = <C extends AnyContract>(
  contract: C & UsableBy<C, 'server'> & UsableBy<C, 'client'>,
  service: NoInfer<Service<C>>,
  options: InMemoryOptions = {},
): Client<C> =>
  connect(
    contract as never,
    serve(contract as never, service as never, options.serve),
    options.connect as never,
  ) as never;

/**
 * Passes every request and response through the encodings of HTTP (URL, cookies, body bytes) without a network: what
 * works through it works over one.
 */
export const overTheWire =
  (handle: HandleRequest): HandleRequest =>
  async (request) => {
    const { path, query } = parseTarget(requestTarget(request));
    const cookies = decodeCookies(encodeCookies(request.cookies));
    const response = await handle({ ...request, path, query, cookies, body: asBytes(request.body) });
    return { ...response, body: asBytes(response.body) };
  };

const asBytes = (body: HttpBody): HttpBody => {
  const mediaType = mediaTypeOf(body);
  return mediaType === undefined || body.kind === 'stream' ? body : streamBody(bodyToStream(body), mediaType);
};
