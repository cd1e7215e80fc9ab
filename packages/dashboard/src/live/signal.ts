import { useSyncExternalStore } from 'react';

/** A value that tells when it has become another one. */
export class Signal<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  readonly get = (): T => this.value;

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of this.listeners) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

export const useSignal = <T>(signal: Signal<T>): T => useSyncExternalStore(signal.subscribe, signal.get);
