import type { FieldError } from '../../core/field-error.js';
import { freeFormMembers, legacyNames, legacyWords } from './legacy-names.js';

/** Deeper documents are refused: no record of this API comes near, and code that walks them recurses. */
const maxDepth = 64;
/** What PostgreSQL can store neither as text nor as JSON: the character NUL and halves of surrogate pairs. */
const unstorable = /\0|\p{Surrogate}/u;

/** A body that breaks a rule of every body, whatever its record. */
export class BodyProblem extends Error {
  constructor(readonly error: FieldError) {
    super(error.message);
  }
}

/**
 * Brings a parsed body into the form that all rooms may rely on: members that are null are absent, legacy names are ours,
 * and every text can be stored.
 */
export function normalizeBody(body: unknown, acceptLegacyNames: boolean): unknown {
  const walk = (value: unknown, path: string, depth: number, freeForm: boolean): unknown => {
    if (typeof value === 'string') return storable(value, path);
    if (value === null || typeof value !== 'object') return value;
    if (depth > maxDepth) throw problem(path, 'depth', `is nested deeper than ${maxDepth} levels`);
    if (Array.isArray(value)) {
      return value.map((member, index) => walk(member, `${path}${path ? '.' : ''}${index}`, depth + 1, freeForm));
    }
    const result: Record<string, unknown> = {};
    for (const [given, member] of Object.entries(value)) {
      if (member === null || given === '__proto__') continue;
      const renamed = acceptLegacyNames && !freeForm ? legacyNames[given] : undefined;
      // Sent under both names, ours counts.
      if (renamed !== undefined && (value as Record<string, unknown>)[renamed] != null) continue;
      const name = renamed ?? storable(given, path);
      const word = acceptLegacyNames && !freeForm ? ourWord(name, member) : undefined;
      result[name] =
        word ?? walk(member, path ? `${path}.${name}` : name, depth + 1, freeForm || freeFormMembers.has(name));
    }
    return result;
  };
  return walk(body, '', 0, false);
}

const ourWord = (name: string, value: unknown): string | undefined =>
  typeof value === 'string' && Object.hasOwn(legacyWords, name) ? legacyWords[name]?.[value] : undefined;

function storable(text: string, path: string): string {
  if (unstorable.test(text)) throw problem(path, 'text', 'contains a character that cannot be stored');
  return text;
}

const problem = (field: string, rule: string, what: string): BodyProblem =>
  new BodyProblem({ field, rule, message: `${field || 'The body'} ${what}` });
