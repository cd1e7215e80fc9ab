/** A raw value that cannot be turned into the value its type promises. Which argument it was, the caller adds. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** A body whose media type is not one the operation reads. */
export class WrongMediaType extends Error {
  override readonly name = 'WrongMediaType';
  constructor(
    readonly expected: string,
    readonly actual: string,
  ) {
    super(`must be ${expected}, not ${actual}`);
  }
}

export class TooLarge extends Error {
  override readonly name = 'TooLarge';
  constructor(readonly limit: number) {
    super(`is larger than ${limit} bytes`);
  }
}
