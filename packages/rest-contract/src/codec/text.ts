import { Unreadable } from '../raw/failures.js';
import { readings } from './revive.js';
import { isPromise, type SchemaResult, type StandardSchema, unreadable, validate } from './standard-schema.js';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NAMED = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** Text of one scalar, such that `textReadings` offers the scalar again. */
export function scalarToText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'object':
      if (value === null) return 'null';
      if (value instanceof Date) return value.toISOString();
  }
  throw new TypeError('only text, numbers, booleans, dates and null can be sent as text; give this type a codec');
}

/** Values that a text may stand for beside itself: a JSON scalar, a number JSON cannot write, a date, a bigint. */
function* textReadings(text: string): Generator<unknown> {
  if (NUMBER.test(text)) yield Number(text);
  else if (NAMED.has(text)) yield NAMED.get(text);
  yield* readings(text);
}

type Hint = 'string' | 'number' | 'list' | undefined;

/**
 * Reads text by a schema: as text if it accepts that, else as the first other reading it accepts. A schema for strings
 * therefore never sees "10" as 10, and a schema for numbers needs no coercion.
 */
export class TextReader {
  private readonly hint: Hint;

  constructor(private readonly schema: StandardSchema) {
    this.hint = hintOf(schema);
  }

  read(text: string): unknown {
    // Asking a schema for numbers about the text first would only cost an error message.
    if (this.hint === 'number' && NUMBER.test(text)) {
      const result = validate(this.schema, Number(text));
      if (!isPromise(result) && !result.issues) return result.value;
    }
    const result = validate(this.schema, text);
    if (!isPromise(result) && !result.issues) return result.value;
    return this.firstAccepted(result, candidates(text, this.hint));
  }

  /** A name that appeared several times, or a schema for lists: each text by the same rule. */
  readList(texts: readonly string[]): unknown {
    const scalars = texts.map((text) => {
      for (const reading of textReadings(text)) return reading;
      return text;
    });
    return this.firstAccepted(validate(this.schema, texts), [
      scalars,
      texts.map((text) => readings(text).next().value ?? text),
    ]);
  }

  readAll(texts: readonly string[]): unknown {
    const [first] = texts;
    if (texts.length === 1 && first !== undefined && this.hint !== 'list') return this.read(first);
    try {
      return this.readList(texts);
    } catch (problem) {
      throw this.hint === 'list' || !(problem instanceof Unreadable)
        ? problem
        : new Unreadable('is given more than once');
    }
  }

  private firstAccepted(
    result: SchemaResult<unknown> | Promise<SchemaResult<unknown>>,
    others: Iterable<unknown>,
  ): unknown {
    if (isPromise(result)) return this.firstAcceptedLater(result, others);
    if (!result.issues) return result.value;
    let issues = result.issues;
    for (const other of others) {
      const next = validate(this.schema, other);
      if (isPromise(next)) return this.firstAcceptedLater(next, [other, ...others]);
      if (!next.issues) return next.value;
      issues = closer(issues, next.issues, other);
    }
    throw unreadable(issues);
  }

  private async firstAcceptedLater(
    result: Promise<SchemaResult<unknown>>,
    others: Iterable<unknown>,
  ): Promise<unknown> {
    const first = await result;
    if (!first.issues) return first.value;
    let issues = first.issues;
    for (const other of others) {
      const next = await validate(this.schema, other);
      if (!next.issues) return next.value;
      issues = closer(issues, next.issues, other);
    }
    throw unreadable(issues);
  }
}

/** "Too small" says more than "expected number, received string": the complaint about the number it stands for wins. */
const closer = <T>(before: T, after: T, reading: unknown): T => (Array.isArray(reading) ? before : after);

function* candidates(text: string, hint: Hint): Generator<unknown> {
  yield* textReadings(text);
  if (hint === 'list' || hint === undefined) {
    // One entry of a list that may have more.
    yield [text];
    for (const reading of textReadings(text)) yield [reading];
  }
}

/** Hint of the schema about its own type, if its library gives one; only ever saves work. */
function hintOf(schema: StandardSchema): Hint {
  try {
    const { type } = schema['~standard'].jsonSchema?.input({ target: 'draft-07' }) ?? {};
    if (type === 'integer' || type === 'number') return 'number';
    return type === 'array' ? 'list' : type === 'string' ? 'string' : undefined;
  } catch {
    return undefined; // dates and bigints have no JSON Schema
  }
}
