import type { FieldError } from '../field-error.js';

export interface MetadataLimits {
  /** Empty: any. */
  allowedMetadataTypes: readonly string[];
  /** The type is a part of the note's key. */
  maxMetadataTypeLength: number;
  /** A title must be shorter, in characters. */
  maxMetadataTitleLength: number;
  /** A message must be shorter, in characters. */
  maxMetadataMessageLength: number;
}

/** Everything that is wrong with a note. */
export function refuseMetadata(
  { type, title, message = '' }: { type: string; title: string; message?: string },
  limits: MetadataLimits,
): FieldError[] {
  const errors: FieldError[] = [];
  const wrong = (field: string, rule: string, what: string) =>
    errors.push({ field, rule, message: `${field} ${what}` });
  if (type === '' || type.length > limits.maxMetadataTypeLength)
    wrong('type', 'length', `must have 1 to ${limits.maxMetadataTypeLength} characters`);
  if (type.includes('/')) wrong('type', 'pattern', `must not contain '/'`);
  if (limits.allowedMetadataTypes.length > 0 && !limits.allowedMetadataTypes.includes(type))
    wrong('type', 'oneOf', `must be one of ${limits.allowedMetadataTypes.join(', ')}`);
  if (title.length >= limits.maxMetadataTitleLength)
    wrong('title', 'length', `must be shorter than ${limits.maxMetadataTitleLength} characters`);
  if (message.length >= limits.maxMetadataMessageLength)
    wrong('message', 'length', `must be shorter than ${limits.maxMetadataMessageLength} characters`);
  return errors;
}
