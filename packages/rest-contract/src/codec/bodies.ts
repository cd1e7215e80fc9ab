import {
  bytesBody,
  emptyBody,
  type HttpBody,
  mediaTypeOf,
  readBytes,
  readText,
  streamBody,
  textBody,
} from '../raw/body.js';
import { WrongMediaType } from '../raw/failures.js';
import { accepts, TEXT_TYPE } from '../raw/media-type.js';
import { noEntries, type RestResponse } from '../raw/message.js';
import { HttpErrorException } from '../raw/http-error.js';
import { bodyToStream } from './stream-bytes.js';
import { type Codec, codec } from './codec.js';

const BINARY = { type: 'string', format: 'binary' } as const;

/** A body of no stated type is read: plenty of clients leave the header out. */
export function checkMediaType(body: HttpBody, accepted: readonly string[]): void {
  const given = mediaTypeOf(body);
  if (given === undefined || given === '') return;
  if (!accepted.some((one) => accepts(one, given))) throw new WrongMediaType(accepted.join(' or '), given);
}

/** The whole body as bytes. A wildcard such as `image/*` is read, and written as application/octet-stream. */
export const bytes = (mediaType = 'application/octet-stream'): Codec<'body', Uint8Array, Uint8Array, 'both'> =>
  codec('body', {
    encode: (value: Uint8Array) => bytesBody(value, written(mediaType)),
    decode: (body, { maxBytes }) => {
      checkMediaType(body, [mediaType]);
      return readBytes(body, maxBytes);
    },
    schema: BINARY,
    mediaTypes: [mediaType],
  });

/** The whole body as text. */
export const text = (mediaType = TEXT_TYPE): Codec<'body', string, string, 'both'> =>
  codec('body', {
    encode: (value: string) => textBody(value, mediaType),
    decode: (body, { maxBytes }) => {
      checkMediaType(body, [mediaType]);
      return readText(body, maxBytes);
    },
    schema: { type: 'string' },
    mediaTypes: [mediaType],
  });

/** The body as chunks, never held as a whole; the reader sets the pace. */
export const byteStream = (
  mediaType = 'application/octet-stream',
): Codec<'body', AsyncIterable<Uint8Array>, AsyncIterable<Uint8Array>, 'both'> =>
  codec('body', {
    encode: (value: AsyncIterable<Uint8Array>) => streamBody(value, written(mediaType)),
    decode: (body) => {
      checkMediaType(body, [mediaType]);
      return bodyToStream(body);
    },
    schema: BINARY,
    mediaTypes: [mediaType],
  });

/** The body as it is: for operations that decide the media type themselves. */
export const httpBody: Codec<'body', HttpBody, HttpBody, 'both'> = codec('body', {
  encode: (value: HttpBody) => value,
  decode: (body) => body,
  schema: BINARY,
  mediaTypes: ['*/*'],
});

/** The response as it is: status, headers and body. A client gets it whatever its status. */
export const rawResponse: Codec<'response', RestResponse, RestResponse, 'both'> = codec('response', {
  encode: (value: RestResponse) => value,
  decode: (response) => response,
  responses: { default: { description: 'Any response', content: { '*/*': { schema: BINARY } } } },
});

const noContent: RestResponse = Object.freeze({ status: 204, headers: noEntries, body: emptyBody });

/** No result: 204 and an empty body. A client ignores any body there. */
export const unit: Codec<'response', void, void, 'both'> = codec('response', {
  encode: () => noContent,
  decode: async (response) => {
    if (response.status >= 300) throw await errorOf(response);
    // Read to its end rather than dropped, so that the connection can carry the next call.
    await Promise.resolve(readBytes(response.body, IGNORED_BYTES)).catch(() => undefined);
  },
  responses: { 204: { description: 'Success, without content' } },
});
const IGNORED_BYTES = 65_536;

/** Limit of the stored body of an error: it ends up in a message. */
const ERROR_BYTES = 1_048_576;

/** The exception that a response of an error status stands for. */
export async function errorOf(response: RestResponse): Promise<HttpErrorException> {
  const { status, headers, body } = response;
  const options = { headers };
  if (body.kind !== 'stream') return new HttpErrorException(asErrorStatus(status), body, options);
  const given = body.mediaType;
  const isText = given === '' || /^text\/|json|xml/.test(given);
  try {
    const kept = isText
      ? textBody(await readText(body, ERROR_BYTES), given)
      : bytesBody(await readBytes(body, ERROR_BYTES), given);
    return new HttpErrorException(asErrorStatus(status), kept.content.length === 0 ? emptyBody : kept, options);
  } catch (cause) {
    return new HttpErrorException(asErrorStatus(status), emptyBody, { ...options, cause });
  }
}

/** A status outside the range of errors is the gateway's mistake: 502 keeps it one. */
const asErrorStatus = (status: number) => (status >= 300 && status <= 599 ? status : 502);

const written = (mediaType: string) => (mediaType.includes('*') ? 'application/octet-stream' : mediaType);
