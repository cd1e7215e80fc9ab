import type { DestinationStream } from 'pino';

const mask = '***';

/** Where a line of JSON may carry what proves who somebody is. Each keeps what stands before the proof. */
const places: readonly RegExp[] = [
  // Headers, as members of a record or in a text; their value ends with the text.
  /((?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?)[^"'\\]+/gi,
  /((?:set-)?cookie\\?["']?\s*[:=]\s*\\?["']?)[^"'\\]+/gi,
  // Members of records, and parameters of URLs.
  /("[\w-]*(?:password|passwd|secret|token)\\?"\s*:\s*\\?")[^"\\]+/gi,
  /([?&](?:[\w-]*(?:password|secret|token))=)[^&\s"'\\]+/gi,
  /(:\/\/[^\s/:@"']+:)[^\s/@"']+(?=@)/g,
  // The proof by itself: a scheme with something long enough to be one, or a signed token.
  /(\b(?:Bearer|Basic) +)[\w.~+/=-]{8,}/gi,
  /(\bToken +)[\w.~+/=-]{16,}/gi,
  /()\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
];

/** The same text without passwords, tokens and cookies. */
export const maskCredentials = (text: string): string =>
  places.reduce((line, place) => line.replace(place, `$1${mask}`), text);

/** Nothing that proves who somebody is gets into the log, whoever says it. */
export function withoutCredentials(destination: DestinationStream): DestinationStream {
  return { write: (line) => destination.write(maskCredentials(line)) };
}
