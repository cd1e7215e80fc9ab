import {
  emptyBody,
  type HandleRequest,
  type HttpBody,
  type RestRequest,
  type RestResponse,
  textBody,
} from '../../src/index.js';

export const request = (method: string, path: string, more: Partial<RestRequest> = {}): RestRequest => ({
  method,
  path: path.split('/').filter((segment) => segment !== ''),
  query: [],
  headers: [],
  cookies: [],
  body: emptyBody,
  ...more,
});

export const jsonText = (value: unknown): HttpBody => textBody(JSON.stringify(value), 'application/json');

/** Answers everything the same, and remembers what it was asked. */
export function recorder(response: Partial<RestResponse> = {}) {
  const requests: RestRequest[] = [];
  const handle: HandleRequest = async (asked) => {
    requests.push(asked);
    return { status: 204, headers: [], body: emptyBody, ...response };
  };
  return {
    handle,
    requests,
    last: () => {
      const { signal: _signal, ...rest } = requests[requests.length - 1] as RestRequest;
      return rest;
    },
  };
}

/** Status and text of a response, which is all there is to a failure. */
export async function outcome(response: RestResponse | Promise<RestResponse>) {
  const { status, body } = await response;
  return { status, text: body.kind === 'text' ? body.content : body.kind };
}

export async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

export const utf8 = (text: string) => new TextEncoder().encode(text);
