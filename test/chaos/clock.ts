import { existsSync, readdirSync, writeFileSync } from 'node:fs';

/** Library of the Debian package `faketime`, in a directory that is named after the architecture. */
const library = existsSync('/usr/lib')
  ? readdirSync('/usr/lib')
      .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
      .find((path) => existsSync(path))
  : undefined;

/** Clocks on the wall that are set while their processes run; what these wait by (the monotonic clock) goes on as it should. */
export class Clock {
  static readonly available = library !== undefined;

  constructor(private readonly file: string) {
    this.set(0);
  }

  /** For processes that are to go by it. */
  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: library!,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DISABLE_SHM: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Seconds ahead of the real one; negative: behind. */
  set(seconds: number): void {
    writeFileSync(this.file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`, { mode: 0o644 });
  }
}
