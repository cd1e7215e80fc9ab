import type { ReactNode } from 'react';
import type { Need } from '../live/rights';
import { Signal } from '../live/signal';

interface FieldBase {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
}

export type Field =
  | (FieldBase & {
      readonly kind: 'text' | 'lines';
      readonly initial?: string;
      readonly suggestions?: readonly string[];
    })
  | (FieldBase & { readonly kind: 'duration'; readonly initial?: string })
  | (FieldBase & { readonly kind: 'time'; readonly initial?: number })
  | (FieldBase & {
      readonly kind: 'number';
      readonly initial: number;
      readonly min?: number;
      readonly max?: number;
      readonly step?: number;
    })
  | (FieldBase & { readonly kind: 'check'; readonly initial: boolean })
  | (FieldBase & {
      readonly kind: 'choice';
      readonly initial: string;
      readonly choices: readonly (readonly [value: string, label: string])[];
    });

/** What was filled in: texts without blanks at their ends, durations and times in milliseconds; what was left empty is undefined. */
export class Values {
  constructor(private readonly given: Readonly<Record<string, string | number | boolean | undefined>>) {}

  text(name: string): string | undefined {
    const value = this.given[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  number(name: string): number | undefined {
    const value = this.given[name];
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  }

  isSet(name: string): boolean {
    return this.given[name] === true;
  }

  lines(name: string): string[] {
    return (this.text(name) ?? '').split('\n').filter((line) => line.trim() !== '');
  }
}

/** Goes to a page, by its path below the page's own. */
export type Go = (to: string, search?: Readonly<Record<string, string>>) => void;

/** Something that a person may have the service do: what it asks for, what it does, and how it is undone. */
export interface Action {
  readonly id: string;
  readonly label: string;
  /** Says in one sentence what will happen. */
  readonly explains: string;
  readonly isDangerous?: boolean;
  /** What the service asks of who does it; absent: nothing but to be known. */
  readonly needs?: Need;
  readonly fields: readonly Field[];
  /** Has to be typed before it is done: for what cannot be undone. */
  readonly typed?: string | ((values: Values) => string | undefined);
  /** What will happen, asked of the service as the fields change. */
  readonly plan?: (values: Values) => Promise<ReactNode>;
  readonly run: (values: Values) => Promise<unknown>;
  readonly done: string;
  readonly undo?: { readonly label: string; readonly run: () => Promise<unknown> };
  /** Keys of reads that are not up to date after it. */
  readonly outdates?: readonly (readonly string[])[];
  /** What comes afterwards, such as going to another page. */
  readonly afterwards?: (answer: unknown, values: Values, go: Go) => void;
}

/** The action whose dialog is open. */
export const openAction = new Signal<Action | undefined>(undefined);

export const message: Field = { kind: 'text', name: 'message', label: 'Message', help: 'Kept in the history' };
export const expiry: Field = {
  kind: 'duration',
  name: 'durationMillis',
  label: 'Ends after',
  help: 'Such as 2h 30m; empty: stays until it is changed',
};
