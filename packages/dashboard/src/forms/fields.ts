import type { Document } from './document';

export interface FormField {
  readonly path: string;
  readonly label: string;
  /** time: epoch milliseconds, as a date and a time of day in the zone of the page. */
  readonly kind: 'text' | 'number' | 'check' | 'lines' | 'map' | 'choice' | 'json' | 'time';
  readonly choices?: readonly (readonly [value: string, label: string])[];
  readonly placeholder?: string;
  readonly help?: string;
  /** Shown for such a document only. */
  readonly when?: (document: Document) => boolean;
}

export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly FormField[];
  /** Unfolded from the beginning. */
  readonly isOpen?: boolean;
}

type Details = Partial<Omit<FormField, 'path' | 'label' | 'kind'>>;
const field =
  (kind: FormField['kind']) =>
  (path: string, label: string, details: Details = {}): FormField => ({ path, label, kind, ...details });

export const text = field('text');
export const number = field('number');
export const check = field('check');
export const lines = field('lines');
export const map = field('map');
export const json = field('json');
export const time = field('time');
export const choice = (
  path: string,
  label: string,
  choices: FormField['choices'],
  details: Details = {},
): FormField => ({ path, label, kind: 'choice', choices, ...details });
/** Choices whose labels are their values. */
export const same = (...values: string[]): FormField['choices'] => values.map((value) => [value, value] as const);
