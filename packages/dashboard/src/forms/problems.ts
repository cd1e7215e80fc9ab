import { MusterError } from 'muster-client';

/** What the service refuses, by the path of the field; `inside` is where the document stands in what is sent. */
export const problemsOf = (cause: unknown, inside = ''): Readonly<Record<string, string>> =>
  cause instanceof MusterError
    ? Object.fromEntries(
        cause.errors.map(({ field, message }) => [
          inside !== '' && field.startsWith(`${inside}.`) ? field.slice(inside.length + 1) : field,
          message,
        ]),
      )
    : {};
