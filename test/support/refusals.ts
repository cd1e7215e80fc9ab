import { expect } from 'vitest';

/** Parts of a refusal that a test may demand beside its status and code: the message, and the first broken rule. */
interface RefusalDetails {
  message?: unknown;
  field?: unknown;
  rule?: unknown;
}

interface RefusalMatchers<R> {
  /** An answer of the API is this error. The failure prints the answer that came. */
  toRefuse(status: number, code: string, details?: RefusalDetails): R;
}

declare module 'vitest' {
  interface Matchers<T> extends RefusalMatchers<T> {}
}

interface Answer {
  status: number;
  body?: { code?: unknown; message?: unknown; errors?: { field?: unknown; rule?: unknown }[] };
}

expect.extend({
  toRefuse({ status, body }: Answer, wantedStatus: number, code: string, details: RefusalDetails = {}) {
    const expected = { status: wantedStatus, code, ...details };
    const seen = { status, code: body?.code, message: body?.message, ...body?.errors?.[0] };
    const actual = Object.fromEntries(Object.keys(expected).map((key) => [key, seen[key as keyof typeof seen]]));
    const wanted = [wantedStatus, code, ...(Object.keys(details).length > 0 ? [JSON.stringify(details)] : [])].join(
      ' ',
    );
    return {
      pass: this.equals(actual, expected),
      message: () =>
        `expected ${this.isNot ? 'no' : 'a'} refusal with ${wanted}, got ${status} ${JSON.stringify(body)}`,
      actual,
      expected,
    };
  },
});
