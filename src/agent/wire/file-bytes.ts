import { byteStream, codec, errorOf, headerOf, streamBody, type RestResponse } from 'rest-contract';

/** Bytes of a file on their way: never held as a whole, and the reader sets the pace. */
export interface FileBytes {
  /** Size of the whole file, now. */
  size: number;
  /** Epoch millis, fractional. */
  mtime: number;
  /** Length of `content` in bytes. */
  length: number;
  content: AsyncIterable<Uint8Array>;
}

const headers = { size: 'x-file-size', mtime: 'x-file-mtime' } as const;
const bytes = byteStream();

/** The bytes are the body, their length is announced: an answer that breaks off is never taken for a short file. */
export const fileBytes = codec('response', {
  encode: ({ size, mtime, length, content }: FileBytes): RestResponse => ({
    status: 200,
    headers: [
      [headers.size, String(size)],
      [headers.mtime, String(mtime)],
    ],
    body: streamBody(content, 'application/octet-stream', length),
  }),
  decode: async (response, context): Promise<FileBytes> => {
    if (response.status !== 200) throw await errorOf(response);
    const number = (name: string) => Number(headerOf(response, name) ?? 0);
    return {
      size: number(headers.size),
      mtime: number(headers.mtime),
      length: number('content-length'),
      content: await bytes.decode(response.body, context),
    };
  },
  responses: {
    200: {
      description: 'Bytes of the file',
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    },
  },
});
