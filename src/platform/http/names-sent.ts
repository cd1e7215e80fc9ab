import type { Request } from 'express';
import type { FieldError } from '../../core/field-error.js';

/** Names and words that a caller has for what this API calls otherwise: ours -> as they were sent. */
export type NamesSent = Map<string, string>;

const ofCalls = new WeakMap<Request, NamesSent>();

/** `names` may be added to afterwards. */
export const noteNamesSent = (request: Request, names: NamesSent): void => void ofCalls.set(request, names);

interface AnswerWithErrors {
  message: string;
  errors: FieldError[];
}

/** An error as its caller understands it: by the names that were sent. */
export function inNamesSent<Answer extends AnswerWithErrors>(answer: Answer, request: Request): Answer {
  const names = new Map([...(ofCalls.get(request) ?? []), ...wordsOfPath(request.originalUrl)]);
  if (names.size === 0) return answer;
  const alternatives = [...names.keys()].map((name) => (isPlainWord.test(name) ? withinPath(name) : `\\b${name}\\b`));
  const ours = new RegExp(alternatives.join('|'), 'g');
  const renamed = (text: string): string => text.replace(ours, (name) => names.get(name) ?? name);
  const errors = answer.errors.map((error) => {
    const field = error.field.split('.').map((name) => names.get(name) ?? name);
    return { ...error, field: field.join('.'), message: renamed(error.message) };
  });
  return { ...answer, message: renamed(answer.message), errors };
}

/** A sentence may have it with another meaning. */
const isPlainWord = /^[a-z]+$/;
const withinPath = (name: string): string => `(?<=\\w\\.)${name}\\b|\\b${name}(?=\\.\\w)`;

/** As `PathWord` reads them. */
function wordsOfPath(url: string): (readonly [string, string])[] {
  const words = url.match(/(?<=\/)[A-Z_]*AGENT[A-Z_]*(?=[/?]|$)/g) ?? [];
  return words.map((word) => [word.replace('AGENT', 'SLAVE'), word] as const);
}
