import { StreamableFile } from '@nestjs/common';
import { isKept } from './json.js';

const fromCharacters = 1_048_576;
const kept = new WeakMap<object, Buffer>();

/** An answer of megabytes is made into bytes once for all who share it; others are handed over as text. */
export function asLargeAnswer(value: unknown, json: string): string | StreamableFile {
  if (json.length < fromCharacters || !isKept(value)) return json;
  const bytes = kept.get(value) ?? Buffer.from(json);
  kept.set(value, bytes);
  return new StreamableFile(bytes, { length: bytes.length });
}
